SELECT DATE_TRUNC('quarter', last) AS q, AVG(w), COUNT(w), EXTRACT(EPOCH FROM SUM(w) FILTER (WHERE w > INTERVAL '1 week')) / 3600
FROM (SELECT patient_id, MAX(day) AS last, MAX(day)::timestamp - MIN(day)::timestamp AS w FROM visit GROUP BY patient_id) AS t
GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 25
--   k0: DATE_TRUNC('QUARTER', last) (timestamp)
-- one unit moves: l1 1478926, l2 1478926
--   s0: Σ(EXTRACT(EPOCH FROM w) - -189302528) (steps of 256, at most 1478926)
--   s1: Σ(189302528 - EXTRACT(EPOCH FROM w)) (steps of 256, at most 1478926)
--   s2: 378605056 of each row without EXTRACT(EPOCH FROM w) (steps of 256, at most 1478926)
-- one unit moves: l1 739463, l2 739463
--   s3: SUM(EXTRACT(EPOCH FROM w)) FILTER(WHERE w > INTERVAL '1 WEEK') (steps of 256, at most 739463)
-- a0: AVG(EXTRACT(EPOCH FROM w)) (double) = -189302528 + 378605056 · s0 / (s0 + s1)
-- a1: COUNT(EXTRACT(EPOCH FROM w)) (bigint) = 1/1478926 · s0 + 1/1478926 · s1, rounded, at least 0
-- a2: SUM(EXTRACT(EPOCH FROM w)) FILTER(WHERE w > INTERVAL '1 WEEK') (double) = 256 · s3
-- a3: COUNT(*) (bigint) = 1/1478926 · s0 + 1/1478926 · s1 + 1/1478926 · s2, rounded, at least 0
-- note: EXTRACT(EPOCH FROM w) is clipped into [-189302528, 189302528]
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 739463
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 739463
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 1478926 + CAST(COUNT(v0) AS INT128) * (
        -1478926
      )
    ) AS s2,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        f1), 0)
    ) AS s3
  FROM (
    SELECT
      t3.u AS u,
      DATE_TRUNC('QUARTER', t3.c1) AS k0,
      CASE
        WHEN CASE
          WHEN (
            CAST(t3.c2 AS DOUBLE) / 1000000e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN CAST(t3.c2 AS DOUBLE) / 1000000e0
        END < (
          -189302528e0
        )
        THEN (
          -739463
        )
        WHEN CASE
          WHEN (
            CAST(t3.c2 AS DOUBLE) / 1000000e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN CAST(t3.c2 AS DOUBLE) / 1000000e0
        END > 189302528e0
        THEN 739463
        ELSE CAST(CASE
          WHEN (
            CAST(t3.c2 AS DOUBLE) / 1000000e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN CAST(t3.c2 AS DOUBLE) / 1000000e0
        END * 0.00390625e0 AS BIGINT)
      END AS v0,
      t3.c2 > 604800000000 AS f1
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        EPOCH_US(CAST(t2.a0 AS TIMESTAMP)) - EPOCH_US(CAST(t2.a1 AS TIMESTAMP)) AS c2,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          MAX(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS a0,
          MIN(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS a1
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(DATE_TRUNC('QUARTER', d_t3_t2_t1a0_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('MONTH', d_t3_t2_t1a0_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t3_t2_t1a0_2
  ) AS d_t3_t2_t1a0_2
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "q",
  (
    INTERVAL '1' DAY * (
      dpsql_release_0.a0 / 86400
    )
  ) AS "avg",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 / 3600 AS "?column?"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
