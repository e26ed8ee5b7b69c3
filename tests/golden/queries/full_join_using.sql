SELECT COUNT(*), COUNT(r.id), COUNT(patient_id) FROM visit AS v FULL JOIN referral AS r USING (patient_id) WHERE patient_id > 10;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 √3253319455735808000
--   s0: weighted rows 1 (steps of 1/2097152, at most 1803696054)
--   s1: weighted rows 2 (steps of 1/2097152, at most 1803696054)
-- a0: COUNT(*) (bigint) = 1/2097152 · s0 + 627/1979711488 · s1, rounded, at least 0
-- a1: COUNT(id) (bigint) = 1/2097152 · s0 + -397/1979711488 · s1, rounded, at least 0
-- a2: COUNT(COALESCE(patient_id, patient_id)) (bigint) = 1/2097152 · s0 + 627/1979711488 · s1, rounded, at least 0
-- note: each person counts with at most 860 rows
-- note: 3 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
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
      COALESCE(t1."patient_id", t2."patient_id") AS u,
      CASE WHEN NOT t2."id" IS NULL THEN 0 ELSE 1 END AS g0
    FROM "main"."visit" AS t1
    FULL JOIN "main"."referral" AS t2
      ON t1."patient_id" = t2."patient_id"
    WHERE
      COALESCE(t1."patient_id", t2."patient_id") > 10
  ) AS r
  GROUP BY
    u
  HAVING
    u IN (
      SELECT
        "id"
      FROM "main"."patient"
    )
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 901847040 THEN 901847040 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 901847040 THEN 901847040 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 2048e0) AS BIGINT)
        ELSE measured.s0 * 2048
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 2048e0) AS BIGINT)
        ELSE measured.s1 * 2048
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 739600
        THEN (
          859.9999999992178e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
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
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "count"
FROM dpsql_release_0;
