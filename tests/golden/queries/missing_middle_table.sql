-- The rewriter joins the visits to find the person.
SELECT AVG(dose) AS dose FROM prescription;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 2097152000
--   s0: Σ(dose - 0) (steps of 1/2097152, at most 2097152000)
--   s1: Σ(10 - dose) (steps of 1/2097152, at most 2097152000)
-- a0: AVG(dose) (double) = 0 + 10 · s0 / (s0 + s1)
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: dose is clipped into [0, 10]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 1310720
    ) AS s1,
    COUNT(*) FILTER(WHERE
      f1) AS n0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      CASE
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
        THEN 1310720
        ELSE CAST(CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
      END AS v0,
      NOT CASE WHEN t1."dose" BETWEEN (
        -1.7976931348623157e308
      ) AND 1.7976931348623157e308 THEN t1."dose" END IS NULL AS f1
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 134217728000 THEN 134217728000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 134217728000 THEN 134217728000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 16e0) AS BIGINT)
        ELSE measured.s0 * 16
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 16e0) AS BIGINT)
        ELSE measured.s1 * 16
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 10000
        THEN (
          99.99999999990905e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
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
  dpsql_release_0.a0 AS "dose"
FROM dpsql_release_0;
