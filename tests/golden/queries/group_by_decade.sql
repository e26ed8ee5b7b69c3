SELECT FLOOR(birth_year / 10) * 10 AS decade, COUNT(*) FROM patient GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 122
--   k0: FLOOR(birth_year / 10) * 10 (decimal(6,0))
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
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
      CAST(CAST(t1."birth_year" AS INT) // 10 AS DECIMAL(4, 0)) * CAST(10 AS DECIMAL(2, 0)) AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(CAST(CAST(d_t1_2.x AS INT) // 10 AS DECIMAL(4, 0)) * CAST(10 AS DECIMAL(2, 0)) AS DECIMAL(6, 0)) AS k0
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
  dpsql_release_0.k0 AS "decade",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
