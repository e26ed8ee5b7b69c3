WITH partial AS (
  SELECT
    u,
    k0,
    k1,
    k2,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."patient_id" AS u,
      CASE WHEN t2."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t2."day" END AS k0,
      (
        t2."reason" COLLATE "C"
      ) AS k1,
      (
        t1."drug" COLLATE "C"
      ) AS k2
    FROM "public"."prescription" AS t1
    JOIN "public"."visit" AS t2
      ON t1."visit_id" = t2."id"
    OFFSET 0
  ) AS r
  GROUP BY
    u,
    k0,
    k1,
    k2
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
    k2,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 10000
      THEN (
        CAST(99.99999999990905e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 10000 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
    clamped.k2,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 100) * 16777216
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 100
        THEN 0
        ELSE CAST(TRUNC(CAST(1048575.9999990463e0 AS DOUBLE PRECISION) / SQRT(CAST(scale.t AS DOUBLE PRECISION))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0,
    clamped.k1,
    clamped.k2
)
SELECT
  released.k0,
  released.k1,
  released.k2,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0,
  released.k1,
  released.k2;
