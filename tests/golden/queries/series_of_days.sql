SELECT DATE_TRUNC('month', d), COUNT(*) FROM visit AS v CROSS JOIN LATERAL generate_series(v.day, DATE '2025-12-31', INTERVAL '1 week') AS g(d) GROUP BY 1;

-- ----
-- release 0
-- groups: selected
--   k0: DATE_TRUNC('MONTH', d) (timestamp)
-- selection: weight w in 1/1048576, at most 157 groups
-- one unit moves: l1 None, l2 1646264320
--   s0: COUNT(*) (steps of 1/131072, at most 1646264320)
-- a0: COUNT(*) (bigint) = 1/131072 · s0, rounded, at least 0
-- note: each person counts with at most 12560 rows
-- note: 690,480 declared values are behind the groups, no more than 100,000 are read: groups of few people are not shown
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u,
      DATE_TRUNC('MONTH', t4.c7) AS k0
    FROM (
      SELECT
        t3.c0 AS c0,
        t3.c1 AS c1,
        t3.c2 AS c2,
        t3.c3 AS c3,
        t3.c4 AS c4,
        t3.c5 AS c5,
        t3.c6 AS c6,
        CASE
          WHEN TRY_CAST(CAST(EPOCH_US(CAST(t3.c2 AS TIMESTAMP)) AS INT128) + CAST(TRY_CAST(604800000000 * CAST(t3.c6 AS INT128) AS BIGINT) AS INT128) AS BIGINT) BETWEEN (
            -62135596800000000
          ) AND 253402300799999999
          THEN MAKE_TIMESTAMP(
            TRY_CAST(CAST(EPOCH_US(CAST(t3.c2 AS TIMESTAMP)) AS INT128) + CAST(TRY_CAST(604800000000 * CAST(t3.c6 AS INT128) AS BIGINT) AS INT128) AS BIGINT)
          )
        END AS c7,
        t3.u AS u
      FROM (
        SELECT
          t2.c0 AS c0,
          t2.c1 AS c1,
          t2.c2 AS c2,
          t2.c3 AS c3,
          t2.c4 AS c4,
          t2.c5 AS c5,
          UNNEST(
            GENERATE_SERIES(CAST(0 AS BIGINT), CAST(CASE WHEN t2.c5 < 0 THEN 0 WHEN t2.c5 > 313 THEN 313 ELSE t2.c5 END AS BIGINT), 1)
          ) AS c6,
          t2.u AS u
        FROM (
          SELECT
            t1."id" AS c0,
            t1."patient_id" AS c1,
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c2,
            t1."cost" AS c3,
            t1."reason" AS c4,
            TRY_CAST(CASE
              WHEN FLOOR(
                EPOCH(
                  CAST('2025-12-31 00:00:00' AS TIMESTAMP) - CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) / 604800e0
              ) BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308
              THEN FLOOR(
                EPOCH(
                  CAST('2025-12-31 00:00:00' AS TIMESTAMP) - CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)
                ) / 604800e0
              )
            END AS INT) AS c5,
            t1."patient_id" AS u
          FROM "main"."visit" AS t1
        ) AS t2
      ) AS t3
    ) AS t4
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 157753600
      THEN (
        12559.999999988577e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 157753600 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 131072e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 12560) * 131072
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 157
        THEN 0
        ELSE CAST(TRUNC(1048575.9999990463e0 / SQRT(CAST(scale.t AS DOUBLE))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "date_trunc",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
