SELECT COUNT(*) FROM (SELECT visit_id, day FROM referral WHERE visit_id IS NOT NULL UNION SELECT id, day FROM visit) AS t JOIN visit AS v ON v.id = t.visit_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 60, l2 60
--   s0: COUNT(*) (steps of 1, at most 60)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 60 rows
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t6.u AS u
    FROM (
      SELECT
        t5.k0 AS c0,
        t5.k1 AS c1,
        t5.u AS u
      FROM (
        SELECT
          t4.u AS u,
          t4.c0 AS k0,
          t4.c1 AS k1
        FROM (
          SELECT
            t3.c0 AS c0,
            t3.c1 AS c1,
            t3.u AS u
          FROM (
            SELECT
              t1."visit_id" AS c0,
              CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
              t1."patient_id" AS u
            FROM "main"."referral" AS t1
            WHERE
              NOT (
                t1."visit_id" IS NULL
              )
            UNION ALL
            SELECT
              t2."id" AS c0,
              CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END AS c1,
              t2."patient_id" AS u
            FROM "main"."visit" AS t2
          ) AS t3
        ) AS t4
        GROUP BY
          t4.u,
          t4.c0,
          t4.c1
      ) AS t5
    ) AS t6
    JOIN "main"."visit" AS t7
      ON t6.c0 = t7."id" AND t6.u = t7."patient_id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 60 THEN 60 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
