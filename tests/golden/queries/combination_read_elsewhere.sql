-- A sum that is shown as well is measured as such.
SELECT SUM(height_cm) - SUM(birth_year) AS difference, SUM(height_cm) AS sum FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 2026, l2 2026
--   s0: Σ birth_year (steps of 1, at most 2026)
-- one unit moves: l1 220, l2 220
--   s1: Σ height_cm (steps of 1, at most 220)
-- a0: SUM(birth_year) (bigint) = s0, rounded
-- a1: SUM(height_cm) (bigint) = s1, rounded
-- note: birth_year is clipped into [1900, 2026]
-- note: height_cm is clipped into [40, 220]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COALESCE(SUM(v1), 0)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t1."birth_year" < 1900
        THEN 1900
        WHEN t1."birth_year" > 2026
        THEN 2026
        ELSE CAST(t1."birth_year" AS BIGINT)
      END AS v0,
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v1
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a1 - dpsql_release_0.a0 AS "difference",
  dpsql_release_0.a1 AS "sum"
FROM dpsql_release_0;
