WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        f1)
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE
        WHEN t3.c1 < 0
        THEN 0
        WHEN t3.c1 > 200000
        THEN 20000000
        ELSE CAST(CAST(t3.c1 AS DECIMAL(35, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      NOT t3.c2 IS NULL AS f1
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.a1 AS c2,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          CASE
            WHEN ABS(ROUND(CAST(SUM(DISTINCT CASE WHEN t1."cost" <= 1000000 THEN t1."cost" END) AS DECIMAL), 2)) < 1000000000000000000000000000000000000
            THEN CAST(SUM(DISTINCT CASE WHEN t1."cost" <= 1000000 THEN t1."cost" END) AS DECIMAL(38, 2))
          END AS a0,
          (
            ROUND(CAST(SUM(DISTINCT CASE WHEN t1."cost" <= 1000000 THEN t1."cost" END) AS DOUBLE PRECISION) * 100e0) / (
              CAST(COUNT(DISTINCT CASE WHEN t1."cost" <= 1000000 THEN t1."cost" END) AS DOUBLE PRECISION) * 100e0
            )
          ) AS a1
        FROM "public"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;
