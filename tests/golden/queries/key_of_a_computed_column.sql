-- What a column of a subquery is computed by stands in its place, in parentheses.
SELECT age % 10, COUNT(*) FROM (SELECT 2026 - birth_year AS age FROM patient) AS t WHERE age * 2 < 90 GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 11
--   k0: (2026 - birth_year) % 10 (integer)
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
      (
        2026 - CAST(t1."birth_year" AS INT)
      ) % 10 AS k0
    FROM "main"."patient" AS t1
    WHERE
      (
        (
          2026 - CAST(t1."birth_year" AS INT)
        ) * 2
      ) < 90
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST((
      2026 - CAST(d_t1_2.x AS INT)
    ) % 10 AS INT) AS k0
  FROM (
    SELECT
      CAST(g.n AS SMALLINT) AS x
    FROM GENERATE_SERIES(1900, 2026) AS g(n)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_2
  WHERE
    (
      (
        2026 - CAST(d_t1_2.x AS INT)
      ) * 2
    ) < 90
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
  dpsql_release_0.k0 AS "?column?",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
