-- No square is asked for, so that four cells are enough.
-- clipped in l1
SELECT COVAR_POP(weight_kg, birth_year) AS c FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 38449152, l2 38449152
--   s0: Σ 1-t of birth_year · 1-t of weight_kg (steps of 1/38449152, at most 38449152)
--   s1: Σ 1-t of birth_year · t of weight_kg (steps of 1/38449152, at most 38449152)
--   s2: Σ t of birth_year · 1-t of weight_kg (steps of 1/38449152, at most 38449152)
--   s3: Σ t of birth_year · t of weight_kg (steps of 1/38449152, at most 38449152)
-- a0: COVAR_POP(weight_kg, birth_year) (double) = covariance of all over [1900, 2026] in degree 1 and [2, 300] in degree 1, of s0, s1, s2, s3
-- note: birth_year is clipped into [1900, 2026]
-- note: weight_kg is clipped into [2, 300]
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 38449152 + COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * (
        -126
      ) + COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * (
        -305152
      ) + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0)
    ) AS s0,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 126 + -COALESCE(SUM(d2) FILTER(WHERE
        f2), 0)
    ) AS s1,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 305152 + -COALESCE(SUM(d2) FILTER(WHERE
        f2), 0)
    ) AS s2,
    (
      COALESCE(SUM(d2) FILTER(WHERE
        f2), 0)
    ) AS s3
  FROM (
    SELECT
      u,
      v0,
      v1,
      f2,
      (
        v0 - 1900
      ) AS d0,
      (
        v1 - 2048
      ) AS d1,
      (
        v0 - 1900
      ) * (
        v1 - 2048
      ) AS d2
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
        CASE
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
          THEN 2048
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
          THEN 307200
          ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 1024e0 AS BIGINT)
        END AS v1,
        NOT CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END IS NULL
        AND NOT t1."birth_year" IS NULL AS f2
      FROM "main"."patient" AS t1
    ) AS x
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "c"
FROM dpsql_release_0;
