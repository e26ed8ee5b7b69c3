SELECT COUNT(*) FROM (SELECT visit_id, MAX(result) AS m FROM sample GROUP BY visit_id) AS s JOIN (SELECT id, cost, LAG(cost) OVER (PARTITION BY id ORDER BY day) AS last FROM visit) AS v ON s.visit_id = v.id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t5.u AS u
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1_0."patient_id" AS u,
          t1."visit_id" AS k0,
          MAX(CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END) AS a0
        FROM "main"."sample" AS t1
        JOIN "main"."visit" AS t1_0
          ON t1."visit_id" = t1_0."id"
        GROUP BY
          t1_0."patient_id",
          t1."visit_id"
      ) AS t2
    ) AS t5
    JOIN (
      SELECT
        t4.c0 AS c0,
        t4.c1 AS c1,
        t4.c3 AS c2,
        t4.u AS u
      FROM (
        SELECT
          t3."id" AS c0,
          t3."cost" AS c1,
          CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END AS c2,
          LAG(t3."cost", 1) OVER (
            PARTITION BY t3."patient_id", t3."id"
            ORDER BY CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END ASC
          ) AS c3,
          t3."patient_id" AS u
        FROM "main"."visit" AS t3
      ) AS t4
    ) AS t6
      ON t5.c0 = t6.c0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
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
