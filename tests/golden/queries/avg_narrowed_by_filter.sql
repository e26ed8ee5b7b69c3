-- A FILTER narrows the declared range.
SELECT AVG(cost) FILTER (WHERE cost >= 10 AND cost < 100) AS middling FROM visit;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 360000
--   s0: Σ(cost - 10) (steps of 1/100, at most 360000)
--   s1: Σ(100 - cost) (steps of 1/100, at most 360000)
-- a0: AVG(cost) FILTER(WHERE cost >= 10 AND cost < 100) (double) = 10 + 90 · s0 / (s0 + s1)
-- note: each person counts with at most 40 rows
-- note: cost is clipped into [10, 100]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * (
        -1000
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * 10000
    ) AS s1
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE
        WHEN t1."cost" < 10
        THEN 1000
        WHEN t1."cost" > 100
        THEN 10000
        ELSE CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      (
        t1."cost" >= CAST(10 AS DECIMAL(8, 2))
      ) AND (
        t1."cost" < CAST(100 AS DECIMAL(8, 2))
      ) AS f1
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 360000 THEN 360000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 360000 THEN 360000 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s0
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.m0 IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.m0) AS BIGINT)
        ELSE measured.s1
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 > 129600000000
        THEN (
          359999.9999996726e0 / SQRT(CAST(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1 AS DOUBLE))
        )
        ELSE NULL
      END AS m0
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "middling"
FROM dpsql_release_0;
