-- Few groups: adding them up is no worse.
SELECT smoker, SUM(COUNT(*)) OVER (ORDER BY smoker) AS total FROM patient GROUP BY smoker;

-- ----
-- release 0
-- groups: public, at most 3
--   k0: smoker (boolean)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: windows have a row for each group that the policy declares, whether or not anybody is in it
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."smoker" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_5.x AS BOOLEAN) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST(TRUE AS BOOLEAN)),
      (CAST(FALSE AS BOOLEAN))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_5
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
  dpsql_release_0.k0 AS "smoker",
  CAST(SUM(dpsql_release_0."a0_added") OVER (ORDER BY dpsql_release_0.k0) AS DECIMAL(38, 0)) AS "total"
FROM dpsql_release_0;
