SELECT g, ARRAY_AGG(n ORDER BY sex), JSON_AGG(sex) FROM GENERATE_SERIES(1, 2) AS g, (SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex) AS t GROUP BY g;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0
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
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  g.g AS "g",
  ARRAY_AGG(t.n ORDER BY t.sex) AS "array_agg",
  CASE
    WHEN NOT ARRAY_AGG(t.sex) IS NULL
    THEN TO_JSON(
      CASE
        WHEN TYPEOF(ARRAY_AGG(t.sex)) LIKE 'TIMESTAMP%'
        THEN CAST(REGEXP_REPLACE(REPLACE(CAST(TO_JSON(ARRAY_AGG(t.sex)) AS TEXT), ' ', 'T'), '([+-]\d\d)"', '\1:00"', 'g') AS JSON)
        ELSE TO_JSON(ARRAY_AGG(t.sex))
      END
    )
  END AS "json_agg"
FROM (
  SELECT
    dpsql_values.value AS "g"
  FROM (VALUES
    (1),
    (2)) AS dpsql_values(value)
) AS g
CROSS JOIN (
  SELECT
    dpsql_release_0.k0 AS "sex",
    dpsql_release_0.a0 AS "n"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS t
GROUP BY
  g.g;
