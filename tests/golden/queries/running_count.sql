-- The running count is what is measured; the count of each year of birth is a difference of two of them.
SELECT birth_year, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY birth_year) AS total FROM patient GROUP BY birth_year;

-- ----
-- release 0
-- groups: public, at most 128
--   k0: birth_year (smallint)
-- one unit moves: l1 209024, l2 √700983296
--   measured as running sums up k0: Toeplitz(steps=128, width=None)
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: running sums over at most 128 groups are measured as such: their error is about 3.3 times smaller than that of adding up as many groups
-- note: rows whose birth_year is outside of 1900 to 2026 are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."birth_year" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_2.x AS SMALLINT) AS k0
  FROM (
    SELECT
      CAST(g.n AS SMALLINT) AS x
    FROM GENERATE_SERIES(1900, 2026) AS g(n)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_2
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
  dpsql_release_0.k0 AS "birth_year",
  dpsql_release_0.a0 AS "n",
  CAST(SUM(dpsql_release_0."a0_added") OVER (ORDER BY dpsql_release_0.k0) AS DECIMAL(38, 0)) AS "total"
FROM dpsql_release_0
QUALIFY
  dpsql_release_0.dpsql_shown_0;
