WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."cost" <= 1000000
        THEN LEAST(GREATEST(CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT), 0), 500000)
      END AS v0
    FROM "public"."visit" AS t1
    OFFSET 0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
