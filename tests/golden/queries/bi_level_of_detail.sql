-- Tableau's { FIXED region : COUNT(*) }: in a whole group of the level, its value is the same, and stands beside the group.
SELECT "patient"."region" AS "region", "patient"."sex" AS "sex", COUNT(*) * 1.0 / MIN("t0"."m") AS "share" FROM "patient" "patient" INNER JOIN (SELECT "patient"."region" AS "region", COUNT(*) AS "m" FROM "patient" "patient" GROUP BY 1 HAVING (COUNT(1) > 0)) "t0" ON ("patient"."region" = "t0"."region") GROUP BY 1, 2;

-- ----
-- release 0
-- groups: public, at most 8
--   k0: region (text)
--   k1: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose region is not in region.name are in no group
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u,
      t2."region" AS k0,
      t2."sex" AS k1
    FROM "main"."patient" AS t2
  ) AS r
  GROUP BY
    k0,
    k1
), keys AS (
  SELECT
    p0.k0 AS k0,
    p1.k1 AS k1
  FROM (
    SELECT DISTINCT
      CAST(d_t2_7.x AS TEXT) AS k0
    FROM (
      SELECT DISTINCT
        "name" AS x
      FROM "main"."region"
      WHERE
        NOT "name" IS NULL
      UNION ALL
      SELECT
        NULL AS x
    ) AS d_t2_7
  ) AS p0
  CROSS JOIN (
    SELECT DISTINCT
      CAST(d_t2_1.x AS TEXT) AS k1
    FROM (
      SELECT
        x
      FROM (VALUES
        (CAST('F' AS TEXT)),
        (CAST('M' AS TEXT))) AS v(x)
    ) AS d_t2_1
  ) AS p1
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

-- release 1
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- a1: COUNT(1) (bigint) = s0, rounded, at least 0
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3."id" AS u,
      t3."region" AS k0
    FROM "main"."patient" AS t3
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t3_7.x AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "name" AS x
    FROM "main"."region"
    WHERE
      NOT "name" IS NULL
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t3_7
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
  rows_of_people."region" AS "region",
  rows_of_people."sex" AS "sex",
  rows_of_people.dpsql_a0 * 1.0 / (
    "t0".m
  ) AS "share"
FROM (
  SELECT
    dpsql_release_0.k0 AS "region",
    dpsql_release_0.k1 AS "sex",
    dpsql_release_0.a0 AS "dpsql_a0"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0_1
) AS rows_of_people
JOIN (
  SELECT
    dpsql_release_1.k0 AS "region",
    dpsql_release_1.a0 AS "m"
  FROM dpsql_release_1
  WHERE
    dpsql_release_1.a1 > 0 AND dpsql_release_1.dpsql_present_0
) AS "t0"
  ON rows_of_people."region" = "t0".region;
