SELECT COUNT(*), AVG(cost) FROM visit WHERE (patient_id, day) IN (SELECT patient_id, MAX(day) FROM visit GROUP BY patient_id)
    AND (reason, patient_id) NOT IN (SELECT diagnosis, id FROM patient WHERE smoker);

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √3078400000000000000
--   s0: rows, each without cost as 9/16 (steps of 1/32000000, at most 1754536975)
--   s1: Σ(2·cost - 5000) (steps of 1/6000, at most 1754536975)
--   s2: rows without cost (steps of 1/40000000, at most 1754536975)
-- a0: COUNT(*) (bigint) = 1/32000000 · s0 + 7/640000000 · s2, rounded, at least 0
-- a1: AVG(cost) (double) = 0 + 5000 · a / (a + b), a = 1/64000000 · s0 + -9/1280000000 · s2 + 1/60000000 · s1, b = 1/64000000 · s0 + -9/1280000000 · s2 + -1/60000000 · s1
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) AS INT128) * 4500000 + CAST(COUNT(v0) AS INT128) * 3500000
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -7500000
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 10000000 + CAST(COUNT(v0) AS INT128) * (
        -10000000
      )
    ) AS s2,
    COUNT(*) AS n0
  FROM (
    SELECT
      t4.u AS u,
      CASE
        WHEN t3."cost" < 0
        THEN 0
        WHEN t3."cost" > 5000
        THEN 500000
        ELSE CAST(t3."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
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
          MAX(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t4
      ON t3."patient_id" = t4.c0
      AND CASE WHEN t3."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t3."day" END = t4.c1
    WHERE
      NOT CASE
        WHEN EXISTS(
          SELECT
            1
          FROM (
            SELECT
              t5."diagnosis" AS c0,
              t5."id" AS c1,
              t5."id" AS u
            FROM "main"."patient" AS t5
            WHERE
              t5."smoker"
          ) AS listed
          WHERE
            t3."reason" = listed.c0 AND t3."patient_id" = listed.c1
        )
        THEN TRUE
        WHEN EXISTS(
          SELECT
            1
          FROM (
            SELECT
              t5."diagnosis" AS c0,
              t5."id" AS c1,
              t5."id" AS u
            FROM "main"."patient" AS t5
            WHERE
              t5."smoker"
          ) AS listed
          WHERE
            (
              t3."reason" = listed.c0 OR t3."reason" IS NULL OR listed.c0 IS NULL
            ) AND t3."patient_id" = listed.c1
        )
        THEN NULL
        ELSE FALSE
      END
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 449161464832 THEN 449161464832 WHEN s0 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 449161464832 THEN 449161464832 WHEN s1 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 449161464832 THEN 449161464832 WHEN s2 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s2 END AS BIGINT) AS s2,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 4e0) AS BIGINT)
        ELSE measured.s0 * 4
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 4e0) AS BIGINT)
        ELSE measured.s1 * 4
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor * 4e0) AS BIGINT)
        ELSE measured.s2 * 4
      END
    ) AS s2
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
        THEN (
          39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "avg"
FROM dpsql_release_0;
