-- SUM and COUNT of the same column come with the mean.
SELECT sex, AVG(height_cm) AS m, SUM(height_cm) AS s, COUNT(height_cm) AS n FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 180, l2 180
--   s0: Σ(height_cm - 40) (steps of 1, at most 180)
--   s1: Σ(220 - height_cm) (steps of 1, at most 180)
-- a0: AVG(height_cm) (double) = 40 + 180 · s0 / (s0 + s1)
-- a1: SUM(height_cm) (bigint) = 11/9 · s0 + 2/9 · s1, rounded
-- a2: COUNT(height_cm) (bigint) = 1/180 · s0 + 1/180 · s1, rounded, at least 0
-- note: height_cm is clipped into [40, 220]
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -40
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 220
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
      NOT t1."height_cm" IS NULL AS f1
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
  dpsql_release_0.a0 AS "m",
  dpsql_release_0.a1 AS "s",
  dpsql_release_0.a2 AS "n"
FROM dpsql_release_0;
