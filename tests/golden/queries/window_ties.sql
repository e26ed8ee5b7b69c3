-- Two windows break ties in two orders: rows without a key are numbered once, and both fall back on that.
SELECT COUNT(*) FROM (
    SELECT ROW_NUMBER() OVER (PARTITION BY v.patient_id ORDER BY v.day) AS n,
        ROW_NUMBER() OVER (PARTITION BY v.patient_id ORDER BY p.dose DESC) AS m
    FROM prescription AS p JOIN visit AS v ON p.visit_id = v.id
) AS t WHERE n = 1 AND m = 1;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t5.u AS u
    FROM (
      SELECT
        t4.c3 AS c0,
        t4.c4 AS c1,
        t4.u AS u
      FROM (
        SELECT
          t3.c0 AS c0,
          t3.c1 AS c1,
          t3.c2 AS c2,
          ROW_NUMBER() OVER (PARTITION BY t3.u, t3.c0 ORDER BY t3.c1 ASC, t3.c3 ASC) AS c3,
          ROW_NUMBER() OVER (PARTITION BY t3.u, t3.c0 ORDER BY t3.c2 DESC NULLS FIRST, t3.c3 ASC) AS c4,
          t3.u AS u
        FROM (
          SELECT
            t2."patient_id" AS c0,
            CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END AS c1,
            CASE WHEN t1."dose" BETWEEN (
              -1.7976931348623157e308
            ) AND 1.7976931348623157e308 THEN t1."dose" END AS c2,
            ROW_NUMBER() OVER (
              PARTITION BY t2."patient_id"
              ORDER BY CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END ASC, CASE WHEN t1."dose" BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308 THEN t1."dose" END ASC
            ) AS c3,
            t2."patient_id" AS u
          FROM "main"."prescription" AS t1
          JOIN "main"."visit" AS t2
            ON t1."visit_id" = t2."id"
        ) AS t3
      ) AS t4
    ) AS t5
    WHERE
      t5.c0 = CAST(1 AS BIGINT) AND t5.c1 = CAST(1 AS BIGINT)
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
