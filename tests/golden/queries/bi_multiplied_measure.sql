-- Cube's multiplied measure: the different pairs of a key and a person, joined back to the person.
SELECT keys."visit__reason", SUM("patient_key".weight_kg) "patient__weight" FROM (SELECT DISTINCT visit.reason "visit__reason", patient.id "patient__id" FROM visit AS visit LEFT JOIN patient AS patient ON visit.patient_id = patient.id) AS keys LEFT JOIN patient AS "patient_key" ON keys."patient__id" = "patient_key".id GROUP BY 1 ORDER BY 2 DESC LIMIT 10000;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: visit__reason (text)
-- one unit moves: l1 None, l2 1258291200
--   s0: Σ(weight_kg - 0) (steps of 1/2097152, at most 1258291200)
--   s1: Σ(300 - weight_kg) (steps of 1/2097152, at most 1258291200)
-- a0: SUM(weight_kg) (double) = 1/2097152 · s0
-- a1: COUNT(*) (bigint) = 1/629145600 · s0 + 1/629145600 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: weight_kg is clipped into [2, 300]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 1228800
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t4.u AS u,
      t4.c0 AS k0,
      CASE
        WHEN CASE WHEN t5."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5."weight_kg" END < 2e0
        THEN 8192
        WHEN CASE WHEN t5."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5."weight_kg" END > 300e0
        THEN 1228800
        ELSE CAST(CASE WHEN t5."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5."weight_kg" END * 4096e0 AS BIGINT)
      END AS v0
    FROM (
      SELECT
        t3.k0 AS c0,
        t3.k1 AS c1,
        t3.u AS u
      FROM (
        SELECT
          t2."id" AS u,
          t1."reason" AS k0,
          t2."id" AS k1
        FROM "main"."visit" AS t1
        JOIN "main"."patient" AS t2
          ON t1."patient_id" = t2."id"
        GROUP BY
          t2."id",
          t1."reason"
      ) AS t3
    ) AS t4
    LEFT JOIN "main"."patient" AS t5
      ON t4.c1 = t5."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 2516582400 THEN 2516582400 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 2516582400 THEN 2516582400 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 4
      THEN (
        1.999999999998181e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 4
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 512e0) AS BIGINT)
        ELSE clamped.s0 * 512
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 512e0) AS BIGINT)
        ELSE clamped.s1 * 512
      END
    ) AS s1
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t4_t3_t1_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t4_t3_t1_4
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
  dpsql_release_0.k0 AS "visit__reason",
  dpsql_release_0.a0 AS "patient__weight"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0
ORDER BY
  2 DESC NULLS FIRST
LIMIT 10000;
