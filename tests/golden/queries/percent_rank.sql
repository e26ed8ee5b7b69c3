-- PERCENT_RANK(v) WITHIN GROUP is the mean of 1 for a row that comes before v, and 0 for any other; NULLs come last.
SELECT sex, PERCENT_RANK(180) WITHIN GROUP (ORDER BY height_cm) AS below, COUNT(*) FROM patient GROUP BY sex

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: Σ(CASE WHEN height_cm < 180 THEN 1 ELSE 0 END - 0) (steps of 1, at most 1)
--   s1: Σ(1 - CASE WHEN height_cm < 180 THEN 1 ELSE 0 END) (steps of 1, at most 1)
-- a0: PERCENT_RANK(180) WITHIN GROUP (ORDER BY height_cm) (double) = 0 + 1 · s0 / (s0 + s1)
-- a1: COUNT(*) (bigint) = s0 + s1, rounded, at least 0
-- note: PERCENT_RANK is NULL where there is hardly anybody; of no rows PostgreSQL says 0
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + COUNT(v0)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE
        WHEN CASE WHEN t1."height_cm" < 180 THEN 1 ELSE 0 END < 0
        THEN 0
        WHEN CASE WHEN t1."height_cm" < 180 THEN 1 ELSE 0 END > 1
        THEN 1
        ELSE CAST(CASE WHEN t1."height_cm" < 180 THEN 1 ELSE 0 END AS BIGINT)
      END AS v0
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
  dpsql_release_0.a0 AS "below",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
