SELECT VARIANCE(cost) AS v, STDDEV(cost) FILTER (WHERE reason = 'acute') AS s FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 601160001080
--   s0: Σ (1-t)² of cost (steps of 1/15029000000, at most 601160001080)
--   s1: Σ 2t(1-t) of cost (steps of 1/27911000000, at most 601160001080)
--   s2: Σ t² of cost (steps of 1/15029000000, at most 601160001080)
-- one unit moves: l1 None, l2 601160001080
--   s3: Σ (1-t)² of cost (steps of 1/15029000000, at most 601160001080)
--   s4: Σ 2t(1-t) of cost (steps of 1/27911000000, at most 601160001080)
--   s5: Σ t² of cost (steps of 1/15029000000, at most 601160001080)
-- a0: VAR_SAMP(cost) (double) = variance over [0, 5000] in degree 2, of s0, s1, s2
-- a1: STDDEV(cost) FILTER(WHERE reason = 'acute') (double) = deviation over [0, 5000] in degree 2, of s3, s4, s5
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 15029000000 + COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * (
        -60116
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * 111644 + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * (
        -26
      )
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * 7
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 15029000000 + COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * (
        -60116
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 7
    ) AS s3,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 111644 + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * (
        -26
      )
    ) AS s4,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 7
    ) AS s5,
    COUNT(*) FILTER(WHERE
      f1) AS n0,
    COUNT(*) FILTER(WHERE
      f2) AS n1
  FROM (
    SELECT
      u,
      v0,
      f1,
      f2,
      v0 AS d0,
      (
        (
          v0 * v0 * 8588 + 500000
        ) // 1000000
      ) AS d1
    FROM (
      SELECT
        t1."patient_id" AS u,
        CASE
          WHEN t1."cost" < 0
          THEN 0
          WHEN t1."cost" > 5000
          THEN 500000
          ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v0,
        NOT t1."cost" IS NULL AS f1,
        t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f2
      FROM "main"."visit" AS t1
    ) AS x
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 615587841105920 THEN 615587841105920 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 615587841105920 THEN 615587841105920 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 615587841105920 THEN 615587841105920 ELSE s2 END AS BIGINT) AS s2,
    CAST(CASE WHEN s3 > 615587841105920 THEN 615587841105920 ELSE s3 END AS BIGINT) AS s3,
    CAST(CASE WHEN s4 > 615587841105920 THEN 615587841105920 ELSE s4 END AS BIGINT) AS s4,
    CAST(CASE WHEN s5 > 615587841105920 THEN 615587841105920 ELSE s5 END AS BIGINT) AS s5,
    n0,
    n1
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s0
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s1
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s2
      END
    ) AS s2,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s3 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s3
      END
    ) AS s3,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s4 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s4
      END
    ) AS s4,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s5 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s5
      END
    ) AS s5
  FROM (
    SELECT
      *,
      LEAST(
        CASE
          WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
          )
          ELSE NULL
        END,
        CASE
          WHEN CAST(clamped.n1 AS INT128) * clamped.n1 > 1600
          THEN (
            39.99999999996362e0 / SQRT(CAST(CAST(clamped.n1 AS INT128) * clamped.n1 AS DOUBLE))
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
  dpsql_release_0.a0 AS "v",
  dpsql_release_0.a1 AS "s"
FROM dpsql_release_0;
