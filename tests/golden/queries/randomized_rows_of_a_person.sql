-- Rows of one person share the person's report.
SELECT s.drinks, COUNT(*) AS visits, SUM(v.cost) AS cost
FROM visit AS v JOIN survey AS s ON s.patient_id = v.patient_id GROUP BY s.drinks;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) of AVG(cost) FILTER(WHERE drinks = 'yes') (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) of AVG(cost) FILTER(WHERE drinks = 'yes') (steps of 1/6400, at most 1280000000)
--   s2: Σ(cost - 0) of AVG(cost) FILTER(WHERE drinks = 'no') (steps of 1/6400, at most 1280000000)
--   s3: Σ(5000 - cost) of AVG(cost) FILTER(WHERE drinks = 'no') (steps of 1/6400, at most 1280000000)
-- one unit moves: l1 None, l2 1342177280
--   s4: rows with COUNT(*) FILTER(WHERE drinks = 'yes') (steps of 1/33554432, at most 1342177280)
--   s5: rows with COUNT(*) FILTER(WHERE drinks = 'no') (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) FILTER(WHERE (drinks = 'yes')) (bigint) = count by reports: 1.499 · (1/33554432 · s4) + -0.499 · (1/33554432 · s5), of [1, 1], ±√(0.7479 to 0.7479); 40 rows a person
-- a1: SUM(cost) FILTER(WHERE (drinks = 'yes')) (decimal(38,2)) = sum by reports: 1.499 · (1/32000000 · s0 + 1/32000000 · s1) + -0.499 · (1/32000000 · s2 + 1/32000000 · s3), of [0, 5000], ±√(0.7479 to 0.7479); 40 rows a person
-- a2: COUNT(*) FILTER(WHERE (drinks = 'no')) (bigint) = count by reports: -0.499 · (1/33554432 · s4) + 1.499 · (1/33554432 · s5), of [1, 1], ±√(0.7479 to 0.7479); 40 rows a person
-- a3: SUM(cost) FILTER(WHERE (drinks = 'no')) (decimal(38,2)) = sum by reports: -0.499 · (1/32000000 · s0 + 1/32000000 · s1) + 1.499 · (1/32000000 · s2 + 1/32000000 · s3), of [0, 5000], ±√(0.7479 to 0.7479); 40 rows a person
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: people randomized this column themselves, and answers are freed of it (drinks: randomized response of 2 values at ε = 1.1)
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 0), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 0) AS INT128) * 500000
    ) AS s1,
    (
      COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0)
    ) AS s2,
    (
      -COALESCE(SUM(v1) FILTER(WHERE
        g0 = 1), 0) + CAST(COUNT(v1) FILTER(WHERE
        g0 = 1) AS INT128) * 500000
    ) AS s3,
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s4,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s5,
    COUNT(g0) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE WHEN t2."drinks" = 'yes' THEN 0 WHEN t2."drinks" = 'no' THEN 1 END AS g0,
      CASE
        WHEN t1."cost" < 0
        THEN 0
        WHEN t1."cost" > 5000
        THEN 500000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v1
    FROM "main"."visit" AS t1
    JOIN "main"."survey" AS t2
      ON t1."patient_id" = t2."patient_id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 20480000000 THEN 20480000000 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 20480000000 THEN 20480000000 ELSE s3 END AS BIGINT) AS s3,
    CAST(CASE WHEN s4 > 40960 THEN 40960 ELSE s4 END AS BIGINT) AS s4,
    CAST(CASE WHEN s5 > 40960 THEN 40960 ELSE s5 END AS BIGINT) AS s5,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s0 * 64
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s1 * 64
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s2 * 64
      END
    ) AS s2,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s3 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s3 * 64
      END
    ) AS s3,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s4 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s4 * 33554432
      END
    ) AS s4,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s5 AS DOUBLE) * measured.rows_factor * 33554432e0) AS BIGINT)
        ELSE measured.s5 * 33554432
      END
    ) AS s5
  FROM (
    SELECT
      *,
      LEAST(
        CASE
          WHEN CAST(clamped.s0 AS INT128) * clamped.s0 + CAST(clamped.s1 AS INT128) * clamped.s1 + CAST(clamped.s2 AS INT128) * clamped.s2 + CAST(clamped.s3 AS INT128) * clamped.s3 > 400000000000000
          THEN (
            19999999.99998181e0 / SQRT(
              CAST(CAST(clamped.s0 AS INT128) * clamped.s0 + CAST(clamped.s1 AS INT128) * clamped.s1 + CAST(clamped.s2 AS INT128) * clamped.s2 + CAST(clamped.s3 AS INT128) * clamped.s3 AS DOUBLE)
            )
          )
          ELSE NULL
        END,
        CASE
          WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
          )
          ELSE NULL
        END
      ) AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5
FROM released;

-- outer
SELECT
  dpsql_by_value.dpsql_k0 AS "drinks",
  dpsql_by_value.dpsql_a0 AS "visits",
  dpsql_by_value.dpsql_a1 AS "cost"
FROM (
  SELECT
    CAST('yes' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a0 AS dpsql_a0,
    dpsql_release_0.a1 AS dpsql_a1
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST('no' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a2 AS dpsql_a0,
    dpsql_release_0.a3 AS dpsql_a1
  FROM dpsql_release_0
) AS dpsql_by_value;
