SELECT COUNT(*), AVG(m) FROM visit AS v LEFT JOIN (SELECT batch_id, MAX(patient_id) AS patient_id, MAX(result) AS m FROM sample GROUP BY batch_id) AS t ON t.patient_id = v.patient_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √82635170775040000000000
--   s0: rows, each without m as 9/16 (steps of 1/26214400, at most 287463338140)
--   s1: Σ(2·m - 100) (steps of 1/245760, at most 287463338140)
--   s2: rows without m (steps of 1/32768000, at most 287463338140)
-- a0: COUNT(*) (bigint) = 1/26214400 · s0 + 7/524288000 · s2, rounded, at least 0
-- a1: AVG(m) (double) = 0 + 100 · a / (a + b), a = 1/52428800 · s0 + -9/1048576000 · s2 + 1/49152000 · s1, b = 1/52428800 · s0 + -9/1048576000 · s2 + -1/49152000 · s1
-- note: each person counts with at most 8000 rows
-- note: m is clipped into [0, 100]
WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) AS INT128) * 14745600 + CAST(COUNT(v0) AS INT128) * 11468800
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -24576000
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 32768000 + CAST(COUNT(v0) AS INT128) * (
        -32768000
      )
    ) AS s2,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3."patient_id" AS u,
      CASE WHEN t4.c2 < 0e0 THEN 0 WHEN t4.c2 > 100e0 THEN 1638400 ELSE CAST(t4.c2 * 16384e0 AS BIGINT) END AS v0
    FROM "main"."visit" AS t3
    LEFT JOIN (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.a1 AS c2,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."batch_id" AS k0,
          MAX(t1."patient_id") AS a0,
          MAX(CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END) AS a1
        FROM (
          SELECT
            t1."id",
            t1."visit_id",
            t1."patient_id",
            t1."batch_id",
            t1."result"
          FROM "main"."sample" AS t1
          JOIN "main"."visit" AS t1_0
            ON t1."visit_id" = t1_0."id" AND t1_0."patient_id" = t1."patient_id"
        ) AS t1
        WHERE
          NOT t1."patient_id" IS NULL
        GROUP BY
          t1."patient_id",
          t1."batch_id"
      ) AS t2
    ) AS t4
      ON t4.c1 = t3."patient_id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE
      WHEN s0 > 294362458255360
      THEN 294362458255360
      WHEN s0 < (
        -294362458255360
      )
      THEN (
        -294362458255360
      )
      ELSE s0
    END AS BIGINT) AS s0,
    CAST(CASE
      WHEN s1 > 294362458255360
      THEN 294362458255360
      WHEN s1 < (
        -294362458255360
      )
      THEN (
        -294362458255360
      )
      ELSE s1
    END AS BIGINT) AS s1,
    CAST(CASE
      WHEN s2 > 294362458255360
      THEN 294362458255360
      WHEN s2 < (
        -294362458255360
      )
      THEN (
        -294362458255360
      )
      ELSE s2
    END AS BIGINT) AS s2,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s0
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s1
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s2 AS DOUBLE) * measured.rows_factor) AS BIGINT)
        ELSE measured.s2
      END
    ) AS s2
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 64000000
        THEN (
          7999.999999992724e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
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
