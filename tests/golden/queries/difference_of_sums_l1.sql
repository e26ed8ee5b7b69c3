-- What a row adds to both sums is added up as one number, on one lattice.
-- clipped in l1
SELECT SUM(height_cm) - SUM(birth_year) AS difference FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 2026, l2 2026
--   s0: SUM(height_cm) - SUM(birth_year) (steps of 1, at most 2026)
-- a0: SUM(height_cm) - SUM(birth_year) (bigint) = s0, rounded
-- note: height_cm is clipped into [40, 220]
-- note: birth_year is clipped into [1900, 2026]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      LEAST(
        GREATEST(
          CAST((
            CASE
              WHEN NOT t1."height_cm" IS NULL
              THEN CAST(CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS BIGINT)
              ELSE CAST(0 AS BIGINT)
            END + CASE
              WHEN NOT t1."birth_year" IS NULL
              THEN CAST(CASE
                WHEN t1."birth_year" < 1900
                THEN 1900
                WHEN t1."birth_year" > 2026
                THEN 2026
                ELSE CAST(t1."birth_year" AS BIGINT)
              END AS BIGINT)
              ELSE CAST(0 AS BIGINT)
            END * CAST((
              -1
            ) AS BIGINT)
          ) AS BIGINT),
          (
            -2026
          )
        ),
        220
      ) AS v0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "difference"
FROM dpsql_release_0;
