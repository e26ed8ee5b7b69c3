SELECT n, COUNT(*) FROM (SELECT id, generate_series(1, CAST(FLOOR(cost / 1000) AS INT)) AS n FROM visit) AS t GROUP BY n;

-- ----
-- release 0
-- groups: public, at most 5
--   k0: n (bigint)
-- one unit moves: l1 None, l2 1677721600
--   s0: COUNT(*) (steps of 1/8388608, at most 1677721600)
-- a0: COUNT(*) (bigint) = 1/8388608 · s0, rounded, at least 0
-- note: each person counts with at most 200 rows
-- note: rows whose n is beyond what the declared bounds allow for are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2.u AS u,
      t2.c0 AS k0
    FROM (
      SELECT
        UNNEST(
          GENERATE_SERIES(
            CAST(1 AS BIGINT),
            CAST(CASE
              WHEN TRY_CAST(ROUND(
                CASE
                  WHEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0)
                END
              ) AS INT) < 0
              THEN 0
              WHEN TRY_CAST(ROUND(
                CASE
                  WHEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0)
                END
              ) AS INT) > 5
              THEN 5
              ELSE TRY_CAST(ROUND(
                CASE
                  WHEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN FLOOR(ROUND(CAST(t1."cost" AS DOUBLE) * 100e0) / 100000e0)
                END
              ) AS INT)
            END AS BIGINT),
            1
          )
        ) AS c0,
        t1."patient_id" AS u
      FROM "main"."visit" AS t1
    ) AS t2
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
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 40000
      THEN (
        199.9999999998181e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 40000
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 8388608e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 200) * 8388608
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(e0.x AS BIGINT) AS k0
  FROM (
    SELECT
      CAST(g.n AS BIGINT) AS x
    FROM GENERATE_SERIES(1, 5) AS g(n)
  ) AS e0
  WHERE
    NOT e0.x IS NULL
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "n",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
