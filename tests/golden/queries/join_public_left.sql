SELECT r.country, COUNT(*) FROM patient p LEFT JOIN region r ON r.name = p.region GROUP BY r.country;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: country (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t2."country" AS k0
    FROM "main"."patient" AS t1
    LEFT JOIN "main"."region" AS t2
      ON t2."name" = t1."region"
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t2."country" AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "country"
    FROM "main"."region"
    UNION
    SELECT
      NULL
  ) AS d_t2
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
  dpsql_release_0.k0 AS "country",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
