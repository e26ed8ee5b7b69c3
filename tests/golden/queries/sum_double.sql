-- Doubles are summed on a lattice of powers of two.
SELECT sex, SUM(weight_kg) AS total FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1228800, l2 1228800
--   s0: Σ weight_kg (steps of 1/4096, at most 1228800)
-- a0: SUM(weight_kg) (double) = 1/4096 · s0
-- note: weight_kg is clipped into [2, 300]
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0,
      CASE
        WHEN CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
        THEN 8192
        WHEN CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
        THEN 1228800
        ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 4096e0 AS BIGINT)
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
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "total"
FROM dpsql_release_0;
