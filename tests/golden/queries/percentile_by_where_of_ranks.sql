WITH r AS (SELECT cost, SUM(1) OVER (PARTITION BY 1 ORDER BY cost ROWS UNBOUNDED PRECEDING) AS n FROM visit), s AS (SELECT cost, n, (SELECT COUNT(*) FROM r) AS m FROM r) SELECT AVG(cost) AS q FROM s WHERE n = CAST(m * 0.25 AS INT);

-- ----
-- release 0
-- groups: one group
-- a0: PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost) (decimal(8,2)) = picked, number 0 of q0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
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
  dpsql_release_0.a0 AS "q"
FROM dpsql_release_0;
