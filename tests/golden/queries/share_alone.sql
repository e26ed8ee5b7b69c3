-- Alone, a share is a mean as any other: of two disjoint counts.
SELECT AVG(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) FROM patient

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: Σ(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END - 0) (steps of 1, at most 1)
--   s1: Σ(1 - CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) (steps of 1, at most 1)
-- a0: AVG(CASE WHEN height_cm > 180 THEN 1 ELSE 0 END) (double) = 0 + 1 · s0 / (s0 + s1)
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + COUNT(v0)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN CASE WHEN t1."height_cm" > 180 THEN 1 ELSE 0 END < 0
        THEN 0
        WHEN CASE WHEN t1."height_cm" > 180 THEN 1 ELSE 0 END > 1
        THEN 1
        ELSE CAST(CASE WHEN t1."height_cm" > 180 THEN 1 ELSE 0 END AS BIGINT)
      END AS v0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
