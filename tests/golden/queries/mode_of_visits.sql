-- A person's rows weigh less where there are more of them than count
SELECT MODE(reason) FILTER (WHERE cost > 100) FROM visit WHERE day >= '2025-01-01'

-- ----
-- release 0
-- groups: one group
-- a0: MODE(reason) FILTER(WHERE cost > 100) (text) = picked, number 0 of q0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: MODE is approximate: one of the most common of the declared values, NULL where hardly anybody is
-- q0: MODE(reason) FILTER(WHERE cost > 100): the mode of 'check-up', 'acute', 'chronic'
-- one unit weighs: l1 163840, l2 163840; a row 4096
-- near is less than 335544320; steps of 1
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t1."patient_id" AS u,
      CAST(CASE
        WHEN t1."reason" = CAST('check-up' AS TEXT)
        THEN 0
        WHEN t1."reason" = CAST('acute' AS TEXT)
        THEN 1
        WHEN t1."reason" = CAST('chronic' AS TEXT)
        THEN 2
      END AS BIGINT) AS v
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END >= CAST('2025-01-01' AS DATE)
      AND t1."cost" > CAST(100 AS DECIMAL(8, 2))
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
), found AS (
  SELECT
    v AS v,
    SUM(w) AS w
  FROM (
    SELECT
      p.v,
      COALESCE(scale.m, 4096) AS w
    FROM (
      SELECT
        *
      FROM kept
    ) AS p
    LEFT JOIN scale
      ON p.u = scale.u
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
ORDER BY
  v;

-- outer
SELECT
  dpsql_release_0.a0 AS "mode"
FROM dpsql_release_0;
