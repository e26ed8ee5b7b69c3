SELECT MIN(CASE WHEN n < 0.25 * m THEN 9999 ELSE cost END) AS q, AVG(cost) FROM (SELECT cost, ROW_NUMBER() OVER (ORDER BY cost) AS n, COUNT(*) OVER () AS m FROM visit) AS r;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost) (decimal(8,2)) = picked, number 0 of q0
-- a1: AVG(cost) (double) = 0 + 5000 · s0 / (s0 + s1)
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
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
      t2.u AS u,
      CASE WHEN t2.c0 < 0 THEN 0 WHEN t2.c0 > 5000 THEN 500000 ELSE CAST(t2.c0 * CAST(100 AS DECIMAL(3, 0)) AS BIGINT) END AS v0,
      NOT t2.c0 IS NULL AS f1
    FROM (
      SELECT
        t1."cost" AS c0,
        t1."patient_id" AS u
      FROM "main"."visit" AS t1
    ) AS t2
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s0 * 64
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 64e0) AS BIGINT)
        ELSE measured.s1 * 64
      END
    ) AS s1
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
  COALESCE(released.s1, 0) AS s1
FROM released;

-- q0: PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost): quantiles 1/4 of 0 … 500000
-- one unit weighs: l1 163840, l2 163840; a row 4096
-- near is less than 335544320; steps of 1/100
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t2.u AS u,
      CASE WHEN t2.c0 < 0 THEN 0 WHEN t2.c0 > 5000 THEN 500000 ELSE CAST(t2.c0 * CAST(100 AS DECIMAL(3, 0)) AS BIGINT) END AS v
    FROM (
      SELECT
        t1."cost" AS c0,
        t1."patient_id" AS u
      FROM "main"."visit" AS t1
    ) AS t2
  ) AS r
  WHERE
    NOT v IS NULL
), scale AS (
  SELECT
    u,
    CAST(TRUNC(163839.999999851e0 / CAST(COUNT(*) AS DOUBLE)) AS BIGINT) AS m
  FROM (
    SELECT
      *
    FROM kept
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), weighed AS MATERIALIZED (
  SELECT
    p.v,
    (
      p.v - 0
    ) // 245 AS b,
    COALESCE(scale.m, 4096) AS w
  FROM (
    SELECT
      *
    FROM kept
  ) AS p
  LEFT JOIN scale
    ON p.u = scale.u
), coarse AS (
  SELECT
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    b
), spread AS (
  SELECT
    b,
    w,
    (
      SUM(w) OVER (ORDER BY b) - w
    ) AS below,
    SUM(w) OVER () AS n
  FROM coarse
), near AS (
  SELECT
    b,
    below,
    n
  FROM spread
  WHERE
    (
      CAST(below AS INT128) * 4 - CAST(n AS INT128) * 1 < 1342177280
      AND CAST(n AS INT128) * 1 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 4 < 1342177280
    )
), found AS (
  SELECT
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b
    GROUP BY
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b
)
SELECT
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- outer
SELECT
  CASE WHEN dpsql_release_0.a0 IS NULL OR 9999 IS NULL THEN NULL ELSE LEAST(dpsql_release_0.a0, 9999) END AS "q",
  dpsql_release_0.a1 AS "avg"
FROM dpsql_release_0;
