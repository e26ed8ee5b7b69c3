SELECT r.country, COUNT(*) FROM patient AS p JOIN region AS r ON p.region = r.name GROUP BY r.name;

-- ----
-- release 0
-- groups: public, at most 3
--   k0: name (text)
--   k1: country (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t2."name" AS k0,
      t2."country" AS k1
    FROM "main"."patient" AS t1
    JOIN "main"."region" AS t2
      ON t1."region" = t2."name"
  ) AS r
  GROUP BY
    k0,
    k1
), keys AS (
  SELECT DISTINCT
    CAST(d_t2."name" AS TEXT) AS k0,
    CAST(d_t2."country" AS TEXT) AS k1
  FROM (
    SELECT DISTINCT
      "name",
      "country"
    FROM "main"."region"
  ) AS d_t2
  WHERE
    NOT d_t2."name" IS NULL AND NOT d_t2."country" IS NULL AND NOT d_t2."name" IS NULL
)
SELECT
  keys.k0,
  keys.k1,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- outer
SELECT
  dpsql_release_0.k1 AS "country",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
