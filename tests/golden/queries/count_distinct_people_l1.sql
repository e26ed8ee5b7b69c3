-- clipped in l1
SELECT reason, COUNT(DISTINCT patient_id) AS people FROM visit GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 1073741824, l2 1073741824
--   s0: COUNT(DISTINCT patient_id) (steps of 1/268435456, at most 1073741824)
-- a0: COUNT(DISTINCT patient_id) (bigint) = 1/268435456 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      t1."reason" AS k0
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s0) > 4 THEN (
      3.999999999996362e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS people_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 4
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.people_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.people_factor * 268435456e0) AS BIGINT)
        ELSE clamped.s0 * 268435456
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
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
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "people"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
