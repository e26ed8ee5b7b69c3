-- DISTINCT ON the person keeps one row of each.
SELECT EXTRACT(YEAR FROM first) AS year, COUNT(*) FROM (
    SELECT DISTINCT ON (patient_id) patient_id, day AS first FROM visit ORDER BY patient_id, day
) AS t GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 6
--   k0: EXTRACT(YEAR FROM first) (decimal(5,0))
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3.u AS u,
      CAST(DATE_PART('year', t3.c0) AS DECIMAL(5, 0)) AS k0
    FROM (
      SELECT
        t2.c0 AS c0,
        t2.c2 AS c1,
        t2.u AS u
      FROM (
        SELECT
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c0,
          t1."patient_id" AS c1,
          ROW_NUMBER() OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC, t1."id" ASC
          ) AS c2,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
      ) AS t2
    ) AS t3
    WHERE
      t3.c1 = CAST(1 AS BIGINT)
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(CAST(DATE_PART('year', d_t3_t2_t1_2.x) AS DECIMAL(5, 0)) AS DECIMAL(5, 0)) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('YEAR', d_t3_t2_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t3_t2_t1_2
  ) AS d_t3_t2_t1_2
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
  dpsql_release_0.k0 AS "year",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
