SELECT CASE WHEN weight_kg < 60 THEN 'light' ELSE 'heavy' END AS class, COUNT(*) FROM patient GROUP BY class;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: CASE WHEN weight_kg < 60 THEN 'light' ELSE 'heavy' END (text)
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
      CASE
        WHEN CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 60e0
        THEN 'light'
        ELSE 'heavy'
      END AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(CASE WHEN d_t1_4.x < 60e0 THEN 'light' ELSE 'heavy' END AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST(59e0 AS DOUBLE)),
      (CAST(60e0 AS DOUBLE)),
      (CAST(61e0 AS DOUBLE))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
  WHERE
    NOT CASE WHEN d_t1_4.x < 60e0 THEN 'light' ELSE 'heavy' END IS NULL
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
  dpsql_release_0.k0 AS "class",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
