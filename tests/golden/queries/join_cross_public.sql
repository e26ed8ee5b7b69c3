-- Every row meets every region.
SELECT r.name, COUNT(*) FROM patient CROSS JOIN region r GROUP BY r.name;

-- ----
-- release 0
-- groups: public, at most 3
--   k0: name (text)
-- one unit moves: l1 None, l2 1610612736
--   s0: COUNT(*) (steps of 1/536870912, at most 1610612736)
-- a0: COUNT(*) (bigint) = 1/536870912 · s0, rounded, at least 0
-- note: each person counts with at most 3 rows
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t2."name" AS k0
    FROM "main"."patient" AS t1
    CROSS JOIN "main"."region" AS t2
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
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 9
      THEN (
        2.9999999999972715e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 9
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 536870912e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 3) * 536870912
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t2."name" AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "name"
    FROM "main"."region"
  ) AS d_t2
  WHERE
    NOT d_t2."name" IS NULL
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
  dpsql_release_0.k0 AS "name",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
