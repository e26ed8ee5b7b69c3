-- A person's percentile is one of the person's own values, days among them.
SELECT AVG(EXTRACT(YEAR FROM m)) FROM (
    SELECT patient_id, PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY day DESC) AS m FROM visit GROUP BY patient_id
) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 5, l2 5
--   s0: Σ(EXTRACT(YEAR FROM m) - 2020) (steps of 1, at most 5)
--   s1: Σ(2025 - EXTRACT(YEAR FROM m)) (steps of 1, at most 5)
-- a0: AVG(EXTRACT(YEAR FROM m)) (double) = 2020 + 5 · s0 / (s0 + s1)
-- note: EXTRACT(YEAR FROM m) is clipped into [2020, 2025]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -2020
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 2025
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE
        WHEN CAST(DATE_PART('year', t3.c1) AS DECIMAL(5, 0)) < 2020
        THEN 2020
        WHEN CAST(DATE_PART('year', t3.c1) AS DECIMAL(5, 0)) > 2025
        THEN 2025
        ELSE CAST(CAST(DATE_PART('year', t3.c1) AS DECIMAL(5, 0)) * CAST(1 AS DECIMAL(1, 0)) AS BIGINT)
      END AS v0,
      NOT CAST(DATE_PART('year', t3.c1) AS DECIMAL(5, 0)) IS NULL AS f1
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          QUANTILE_DISC(
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
            0.250000 ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END DESC NULLS FIRST
          ) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
