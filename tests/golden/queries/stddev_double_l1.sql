-- A double is counted in 2⁻²⁰ of its range, its square in as many steps as a person's rows leave room for.
-- clipped in l1
SELECT sex, STDDEV_POP(weight_kg) AS s FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 549755740160, l2 549755740160
--   s0: Σ (1-t)² of weight_kg (steps of 1/549755740160, at most 549755740160)
--   s1: Σ 2t(1-t) of weight_kg (steps of 1/549755740160, at most 549755740160)
--   s2: Σ t² of weight_kg (steps of 1/549755740160, at most 549755740160)
-- a0: STDDEV_POP(weight_kg) (double) = deviation of all over [2, 300] in degree 2, of s0, s1, s2
-- note: weight_kg is clipped into [2, 300]
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) FILTER(WHERE
        f1) AS INT128) * 549755740160 + COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * (
        -900790
      ) + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0)
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f1), 0) * 900790 + COALESCE(SUM(d1) FILTER(WHERE
        f1), 0) * (
        -2
      )
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f1), 0)
    ) AS s2
  FROM (
    SELECT
      u,
      k0,
      v0,
      f1,
      (
        v0 - 8192
      ) AS d0,
      (
        (
          (
            v0 - 8192
          ) * (
            v0 - 8192
          ) * 900790 + 1220608
        ) // 2441216
      ) AS d1
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
        END AS v0,
        NOT CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END IS NULL AS f1
      FROM "main"."patient" AS t1
    ) AS x
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
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "s"
FROM dpsql_release_0;
