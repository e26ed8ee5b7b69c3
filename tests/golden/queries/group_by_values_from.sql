-- The domain is a column of a public table.
SELECT region, COUNT(*) FROM patient GROUP BY region;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."region" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_7.x AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "name" AS x
    FROM "main"."region"
    WHERE
      NOT "name" IS NULL
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_7
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
  dpsql_release_0.k0 AS "region",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
