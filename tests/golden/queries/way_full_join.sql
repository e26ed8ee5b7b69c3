SELECT COUNT(*), COUNT(r.id) FROM sample AS s FULL JOIN referral AS r ON s.visit_id = r.visit_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √1223981167935488000
--   s0: weighted rows 1 (steps of 1/262144, at most 1106336823)
--   s1: weighted rows 2 (steps of 1/262144, at most 1106336823)
-- a0: COUNT(*) (bigint) = 1/262144 · s0 + 627/247463936 · s1, rounded, at least 0
-- a1: COUNT(id) (bigint) = 1/262144 · s0 + -397/247463936 · s1, rounded, at least 0
-- note: each person counts with at most 4220 rows
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      COALESCE(t1."dpsql_unit", t2."patient_id") AS u,
      CASE WHEN NOT t2."id" IS NULL THEN 0 ELSE 1 END AS g0
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result",
        t1_0."patient_id" AS "dpsql_unit"
      FROM "main"."sample" AS t1
      JOIN "main"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id"
    ) AS t1
    FULL JOIN "main"."referral" AS t2
      ON t1."visit_id" = t2."visit_id" AND t1."dpsql_unit" = t2."patient_id"
  ) AS r
  GROUP BY
    u
  HAVING
    u IN (
      SELECT
        "id"
      FROM "main"."patient"
    )
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 4425347072 THEN 4425347072 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 4425347072 THEN 4425347072 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 256e0) AS BIGINT)
        ELSE measured.s0 * 256
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 256e0) AS BIGINT)
        ELSE measured.s1 * 256
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 17808400
        THEN (
          4219.999999996162e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
