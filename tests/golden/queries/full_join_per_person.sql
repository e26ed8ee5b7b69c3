SELECT SUM(CASE WHEN a.patient_id IS NULL THEN 1 ELSE 0 END), COUNT(*) FROM (SELECT patient_id, reason FROM visit WHERE cost > 10 GROUP BY 1, 2) AS a FULL JOIN (SELECT patient_id, reason FROM visit WHERE cost < 5 GROUP BY 1, 2) AS b ON a.patient_id = b.patient_id AND a.reason = b.reason;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √1801730190737408000
--   s0: weighted rows 1 (steps of 1/16777216, at most 1342285435)
--   s1: weighted rows 2 (steps of 1/16777216, at most 1342285435)
-- a0: SUM(CASE WHEN patient_id IS NULL THEN 1 ELSE 0 END) (bigint) = 1/16777216 · s0 + -397/15837691904 · s1, rounded, at least 0
-- a1: COUNT(*) (bigint) = 1/16777216 · s0 + 627/15837691904 · s1, rounded, at least 0
-- note: each person counts with at most 80 rows
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH partial AS (
  SELECT
    u,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 1024 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 397
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 944
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
          t1."reason" AS k1
        FROM "main"."visit" AS t1
        WHERE
          t1."cost" > CAST(10 AS DECIMAL(8, 2))
        GROUP BY
          t1."patient_id",
          t1."reason"
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
          t3."reason" AS k1
        FROM "main"."visit" AS t3
        WHERE
          t3."cost" < CAST(5 AS DECIMAL(8, 2))
        GROUP BY
          t3."patient_id",
          t3."reason"
      ) AS t4
    ) AS t6
      ON t5.c0 = t6.c0 AND t5.c1 = t6.c1
    WHERE
      NOT COALESCE(t5.u, t6.u) IS NULL
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
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s0 * 16384
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 16384e0) AS BIGINT)
        ELSE measured.s1 * 16384
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 6400
        THEN (
          79.99999999992724e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
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
  dpsql_release_0.a0 AS "sum",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
