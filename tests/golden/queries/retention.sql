-- Cohorts by the first visit, and the years since: a person is in one cohort, and so in at most six groups of it.
WITH first AS (SELECT patient_id, MIN(day) AS day FROM visit GROUP BY patient_id)
SELECT EXTRACT(YEAR FROM first.day) AS cohort, EXTRACT(YEAR FROM visit.day) - EXTRACT(YEAR FROM first.day) AS later,
    COUNT(DISTINCT visit.patient_id)
FROM visit JOIN first ON first.patient_id = visit.patient_id
WHERE EXTRACT(YEAR FROM visit.day) - EXTRACT(YEAR FROM first.day) BETWEEN 0 AND 5
GROUP BY 1, 2;

-- ----
-- release 0
-- groups: public, at most 36
--   k0: EXTRACT(YEAR FROM day) (decimal(5,0))
--   k1: EXTRACT(YEAR FROM day) - EXTRACT(YEAR FROM day) (decimal(6,0))
-- one unit moves: l1 None, l2 √1729382256910270464
--   s0: COUNT(DISTINCT patient_id) (steps of 1/536870912, at most 1315059792)
-- a0: COUNT(DISTINCT patient_id) (bigint) = 1/536870912 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u,
      CAST(DATE_PART('year', t4.c1) AS DECIMAL(5, 0)) AS k0,
      CAST(DATE_PART('year', CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END) AS DECIMAL(5, 0)) - CAST(DATE_PART('year', t4.c1) AS DECIMAL(5, 0)) AS k1
    FROM "main"."visit" AS t3
    JOIN (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          MIN(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t4
      ON t3."patient_id" = t4.c0
    WHERE
      (
        CAST(DATE_PART('year', CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END) AS DECIMAL(5, 0)) - CAST(DATE_PART('year', t4.c1) AS DECIMAL(5, 0))
      ) BETWEEN CAST(0 AS DECIMAL(6, 0)) AND CAST(5 AS DECIMAL(6, 0))
  ) AS r
  GROUP BY
    u,
    k0,
    k1
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(clamped.s0 * clamped.s0) > 6
      THEN (
        2.44948974278095e0 / SQRT(CAST(SUM(clamped.s0 * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS people_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0 * clamped.s0) > 6
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
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
    clamped.k0,
    clamped.k1
), keys AS (
  SELECT DISTINCT
    CAST(CAST(DATE_PART('year', d_t4_t2_t1a0_2.x) AS DECIMAL(5, 0)) AS DECIMAL(5, 0)) AS k0,
    CAST(CAST(DATE_PART('year', d_t3_2.x) AS DECIMAL(5, 0)) - CAST(DATE_PART('year', d_t4_t2_t1a0_2.x) AS DECIMAL(5, 0)) AS DECIMAL(6, 0)) AS k1
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('YEAR', d_t4_t2_t1a0_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t4_t2_t1a0_2
  ) AS d_t4_t2_t1a0_2
  CROSS JOIN (
    SELECT DISTINCT
      CAST(DATE_TRUNC('YEAR', d_t3_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t3_2
  ) AS d_t3_2
  WHERE
    (
      CAST(DATE_PART('year', d_t3_2.x) AS DECIMAL(5, 0)) - CAST(DATE_PART('year', d_t4_t2_t1a0_2.x) AS DECIMAL(5, 0))
    ) BETWEEN CAST(0 AS DECIMAL(6, 0)) AND CAST(5 AS DECIMAL(6, 0))
)
SELECT
  keys.k0,
  keys.k1,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- outer
SELECT
  dpsql_release_0.k0 AS "cohort",
  dpsql_release_0.k1 AS "later",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
