WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS DECIMAL) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS DECIMAL) * 944
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      COALESCE(t5.u, t6.u) AS u,
      CASE WHEN t5.c0 IS NULL THEN 0 ELSE 1 END AS g0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.k1 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          (
            t1."reason" COLLATE "C"
          ) AS k1
        FROM "public"."visit" AS t1
        WHERE
          CASE WHEN t1."cost" <= 1000000 THEN t1."cost" END > CAST(10 AS DECIMAL(8, 2))
        GROUP BY
          t1."patient_id",
          (
            t1."reason" COLLATE "C"
          )
      ) AS t2
    ) AS t5
    FULL JOIN (
      SELECT
        t4.k0 AS c0,
        t4.k1 AS c1,
        t4.u AS u
      FROM (
        SELECT
          t3."patient_id" AS u,
          t3."patient_id" AS k0,
          (
            t3."reason" COLLATE "C"
          ) AS k1
        FROM "public"."visit" AS t3
        WHERE
          CASE WHEN t3."cost" <= 1000000 THEN t3."cost" END < CAST(5 AS DECIMAL(8, 2))
        GROUP BY
          t3."patient_id",
          (
            t3."reason" COLLATE "C"
          )
      ) AS t4
    ) AS t6
      ON t5.c0 = t6.c0 AND t5.c1 = t6.c1
    WHERE
      NOT COALESCE(t5.u, t6.u) IS NULL
    OFFSET 0
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 83892224 THEN 83892224 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 83892224 THEN 83892224 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE PRECISION) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s0 * 16384
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE PRECISION) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s1 * 16384
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS DECIMAL) * clamped.n0 > 6400
        THEN (
          CAST(79.99999999992724e0 AS DOUBLE PRECISION) / SQRT(CAST(CAST(clamped.n0 AS DECIMAL) * clamped.n0 AS DOUBLE PRECISION))
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
