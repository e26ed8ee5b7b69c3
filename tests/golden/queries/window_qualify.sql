-- QUALIFY on the engine that has it and on the one that has not.
SELECT AVG(cost) FROM (
    SELECT cost FROM visit QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) <= 3
) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1536000000
--   s0: Σ(cost - 0) (steps of 1/102400, at most 1536000000)
--   s1: Σ(5000 - cost) (steps of 1/102400, at most 1536000000)
-- a0: AVG(cost) (double) = 0 + 5000 · s0 / (s0 + s1)
-- note: each person counts with at most 3 rows
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 500000
    ) AS s1,
    COUNT(*) FILTER(WHERE
      f1) AS n0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c0 < 0 THEN 0 WHEN t3.c0 > 5000 THEN 500000 ELSE CAST(t3.c0 * CAST(100 AS DECIMAL(3, 0)) AS BIGINT) END AS v0,
      NOT t3.c0 IS NULL AS f1
    FROM (
      SELECT
        t2.c0 AS c0,
        t2.u AS u
      FROM (
        SELECT
          t1."cost" AS c0,
          t1."patient_id" AS c1,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c2,
          ROW_NUMBER() OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END DESC NULLS FIRST, t1."id" ASC
          ) AS c3,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
      ) AS t2
      WHERE
        t2.c3 <= CAST(3 AS BIGINT)
    ) AS t3
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 1536000000 THEN 1536000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 1536000000 THEN 1536000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 1024e0) AS BIGINT)
        ELSE measured.s0 * 1024
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 1024e0) AS BIGINT)
        ELSE measured.s1 * 1024
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 9
        THEN (
          2.9999999999972715e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
