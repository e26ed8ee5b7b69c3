-- A mean is the pair of the sums above the lower and below the upper end.
SELECT AVG(height_cm) AS height FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 180, l2 180
--   s0: Σ(height_cm - 40) (steps of 1, at most 180)
--   s1: Σ(220 - height_cm) (steps of 1, at most 180)
-- a0: AVG(height_cm) (double) = 40 + 180 · s0 / (s0 + s1)
-- note: height_cm is clipped into [40, 220]
WITH released AS (
  SELECT
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
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0,
      NOT t1."height_cm" IS NULL AS f1
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "height"
FROM dpsql_release_0;
