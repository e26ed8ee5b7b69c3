WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS DECIMAL) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS DECIMAL) * 40
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c0 < 1 THEN 1 WHEN t3.c0 > 40 THEN 40 ELSE CAST(t3.c0 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.c2 AS c0,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS c0,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
          COUNT(*) OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CAST(CAST(CAST(EXTRACT(YEAR FROM CAST(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS TIMESTAMP)) AS DECIMAL(5, 0)) AS INT) AS BIGINT) ASC
            RANGE BETWEEN 2 PRECEDING AND CURRENT ROW
          ) AS c2,
          t1."patient_id" AS u
        FROM "public"."visit" AS t1
      ) AS t2
    ) AS t3
    OFFSET 0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 1597440 THEN 1597440 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 1597440 THEN 1597440 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE PRECISION) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s0 * 1048576
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE PRECISION) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s1 * 1048576
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS DECIMAL) * clamped.n0 > 1600
        THEN (
          CAST(39.99999999996362e0 AS DOUBLE PRECISION) / SQRT(CAST(CAST(clamped.n0 AS DECIMAL) * clamped.n0 AS DOUBLE PRECISION))
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
