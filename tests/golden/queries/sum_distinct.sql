SELECT SUM(DISTINCT height_cm) FROM patient;

-- ----
-- release 0
-- groups: public, at most 182
--   k0: height_cm (integer)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose height_cm is outside of 40 to 220 are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."height_cm" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_3.x AS INT) AS k0
  FROM (
    SELECT
      CAST(g.n AS INT) AS x
    FROM GENERATE_SERIES(40, 220) AS g(n)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_3
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
  CAST(SUM(distinct_values."height_cm") AS BIGINT) AS "sum"
FROM (
  SELECT
    dpsql_release_0.k0 AS "height_cm"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS distinct_values;
