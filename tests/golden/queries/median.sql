-- A small range: one histogram of values, and the ranks of those near the middle.
SELECT MEDIAN(height_cm) FROM patient;

-- ----
-- release 0
-- groups: one group
-- a0: MEDIAN(height_cm) (double) = picked, number 0 of q0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- q0: MEDIAN(height_cm): quantiles 1/2 of 40 … 220
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1
WITH found AS (
  SELECT
    v AS v,
    SUM(w) AS w
  FROM (
    SELECT
      p.v,
      1 AS w
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t1."id" AS u,
          CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v
        FROM "main"."patient" AS t1
      ) AS r
      WHERE
        NOT v IS NULL
    ) AS p
  ) AS h
  GROUP BY
    v
), placed AS (
  SELECT
    v,
    w,
    0 + (
      SUM(w) OVER (ORDER BY v) - w
    ) AS below,
    SUM(w) OVER () AS n
  FROM found
)
SELECT
  v,
  CAST(w AS BIGINT) AS w,
  CAST(below AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM placed
WHERE
  (
    CAST(below AS INT128) * 2 - CAST(n AS INT128) * 1 < 4096
    AND CAST(n AS INT128) * 1 - (
      CAST(below AS INT128) + CAST(w AS INT128)
    ) * 2 < 4096
  )
ORDER BY
  v;

-- outer
SELECT
  dpsql_release_0.a0 AS "median"
FROM dpsql_release_0;
