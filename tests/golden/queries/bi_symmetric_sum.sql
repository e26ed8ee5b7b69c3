-- Looker's symmetric aggregate: a value of the person's, once for each person in a group, however many rows the join has.
SELECT visit.reason AS "visit.reason", COALESCE(COALESCE(CAST( ( SUM(DISTINCT (CAST(FLOOR(COALESCE(patient.weight_kg ,0)*(1000000*1.0)) AS DECIMAL(65,0))) + ('x' || MD5(patient.id ::varchar))::bit(64)::bigint::DECIMAL(65)  *18446744073709551616 + ('x' || SUBSTR(MD5(patient.id ::varchar),17))::bit(64)::bigint::DECIMAL(65) ) - SUM(DISTINCT ('x' || MD5(patient.id ::varchar))::bit(64)::bigint::DECIMAL(65)  *18446744073709551616 + ('x' || SUBSTR(MD5(patient.id ::varchar),17))::bit(64)::bigint::DECIMAL(65)) )  AS DOUBLE PRECISION) / CAST((1000000*1.0) AS DOUBLE PRECISION), 0), 0) AS "patient.weight", COUNT(DISTINCT patient.id ) AS "patient.count" FROM visit AS visit LEFT JOIN patient AS patient ON visit.patient_id = patient.id GROUP BY 1 ORDER BY 2 DESC LIMIT 500;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1073741824
--   s0: COUNT(DISTINCT id) (steps of 1/536870912, at most 1073741824)
-- a0: COUNT(DISTINCT id) (bigint) = 1/536870912 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u,
      t1."reason" AS k0
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(clamped.s0 * clamped.s0) > 4
      THEN (
        1.999999999998181e0 / SQRT(CAST(SUM(clamped.s0 * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS people_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0 * clamped.s0) > 4
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.people_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.people_factor * 536870912e0) AS BIGINT)
        ELSE clamped.s0 * 536870912
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_4.x AS TEXT) AS k0
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
  ) AS d_t1_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- release 1
-- groups: public, at most 4
--   k0: visit.reason (text)
-- one unit moves: l1 None, l2 1258291200
--   s0: Σ(COALESCE(weight_kg, 0) - 0) (steps of 1/2097152, at most 1258291200)
--   s1: Σ(300 - COALESCE(weight_kg, 0)) (steps of 1/2097152, at most 1258291200)
-- a0: SUM(COALESCE(weight_kg, 0)) (double) = 1/2097152 · s0
-- a1: COUNT(*) (bigint) = 1/629145600 · s0 + 1/629145600 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: COALESCE(weight_kg, 0) is clipped into [0, 300]
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
      t6.u AS u,
      t6.c0 AS k0,
      CASE WHEN t6.c2 < 0e0 THEN 0 WHEN t6.c2 > 300e0 THEN 1228800 ELSE CAST(t6.c2 * 4096e0 AS BIGINT) END AS v0
    FROM (
      SELECT
        t5.k0 AS c0,
        t5.k1 AS c1,
        t5.a0 AS c2,
        t5.u AS u
      FROM (
        SELECT
          t4."id" AS u,
          t3."reason" AS k0,
          t4."id" AS k1,
          MAX(
            COALESCE(
              CASE WHEN t4."weight_kg" BETWEEN (
                -1.7976931348623157e308
              ) AND 1.7976931348623157e308 THEN t4."weight_kg" END,
              0e0
            )
          ) AS a0
        FROM "main"."visit" AS t3
        JOIN "main"."patient" AS t4
          ON t3."patient_id" = t4."id"
        GROUP BY
          t4."id",
          t3."reason"
      ) AS t5
    ) AS t6
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
    CAST(d_t6_t5_t3_4.x AS TEXT) AS k0
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
  ) AS d_t6_t5_t3_4
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
  others."visit.reason" AS "visit.reason",
  COALESCE(
    COALESCE(
      CAST((
        (
          sums0.dpsql_s0 * (
            1000000 * 1.0
          )
        )
      ) AS DOUBLE) / CAST((
        1000000 * 1.0
      ) AS DOUBLE),
      0
    ),
    0
  ) AS "patient.weight",
  others.dpsql_a0 AS "patient.count"
FROM (
  SELECT
    dpsql_release_0.k0 AS "visit.reason",
    dpsql_release_0.a0 AS "dpsql_a0"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS others
LEFT JOIN (
  SELECT
    dpsql_release_1.k0 AS "visit.reason",
    dpsql_release_1.a0 AS "dpsql_s0"
  FROM dpsql_release_1
  WHERE
    dpsql_release_1.dpsql_present_0
) AS sums0
  ON others."visit.reason" IS NOT DISTINCT FROM sums0."visit.reason"
ORDER BY
  2 DESC NULLS FIRST
LIMIT 500;
