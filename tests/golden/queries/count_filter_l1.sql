-- clipped in l1
SELECT sex, COUNT(*) FILTER (WHERE weight_kg < 70) AS light, COUNT(*) AS n FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE weight_kg < 70) (steps of 1, at most 1)
--   s1: rows with not COUNT(*) FILTER(WHERE weight_kg < 70) (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE weight_kg < 70) (bigint) = s0, rounded, at least 0
-- a1: COUNT(*) (bigint) = s0 + s1, rounded, at least 0
-- note: 2 counts are measured together, which takes less noise: as 2 parts that share no rows, added up
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE
        WHEN CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 70e0
        THEN 0
        ELSE 1
      END AS g0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "light",
  dpsql_release_0.a1 AS "n"
FROM dpsql_release_0;
