-- DuckDB's spelling; a list of fractions is one column, and under a FILTER.
SELECT sex, QUANTILE_CONT(height_cm, [0.1, 0.9]) FILTER (WHERE birth_year > 1950) AS ends, QUANTILE_DISC(height_cm, 0.5)
FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- a0: PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY height_cm) FILTER(WHERE birth_year > 1950) (double) = picked, number 1 of q0
-- a1: PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY height_cm) FILTER(WHERE birth_year > 1950) (double) = picked, number 0 of q0
-- a2: PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY height_cm) (integer) = picked, number 0 of q1
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH keys AS (
  SELECT DISTINCT
    CAST(d_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0
FROM keys
ORDER BY
  keys.k0;

-- q0: PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY height_cm) FILTER(WHERE birth_year > 1950): quantiles 1/10, 9/10 of 40 … 220
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1
WITH found AS (
  SELECT
    k0,
    v AS v,
    SUM(w) AS w
  FROM (
    SELECT
      p.k0,
      p.v,
      1 AS w
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t1."id" AS u,
          t1."sex" AS k0,
          CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v
        FROM "main"."patient" AS t1
        WHERE
          CAST(t1."birth_year" AS INT) > 1950
      ) AS r
      WHERE
        NOT v IS NULL
    ) AS p
  ) AS h
  GROUP BY
    k0,
    v
), placed AS (
  SELECT
    k0,
    v,
    w,
    0 + (
      SUM(w) OVER (PARTITION BY k0 ORDER BY v) - w
    ) AS below,
    SUM(w) OVER (PARTITION BY k0) AS n
  FROM found
)
SELECT
  k0,
  v,
  CAST(w AS BIGINT) AS w,
  CAST(below AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM placed
WHERE
  (
    CAST(below AS INT128) * 10 - CAST(n AS INT128) * 1 < 20480
    AND CAST(n AS INT128) * 1 - (
      CAST(below AS INT128) + CAST(w AS INT128)
    ) * 10 < 20480
  )
  OR (
    CAST(below AS INT128) * 10 - CAST(n AS INT128) * 9 < 20480
    AND CAST(n AS INT128) * 9 - (
      CAST(below AS INT128) + CAST(w AS INT128)
    ) * 10 < 20480
  )
ORDER BY
  k0,
  v;

-- q1: PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY height_cm): quantiles 1/2 of 40 … 220
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1
WITH found AS (
  SELECT
    k0,
    v AS v,
    SUM(w) AS w
  FROM (
    SELECT
      p.k0,
      p.v,
      1 AS w
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t1."id" AS u,
          t1."sex" AS k0,
          CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v
        FROM "main"."patient" AS t1
      ) AS r
      WHERE
        NOT v IS NULL
    ) AS p
  ) AS h
  GROUP BY
    k0,
    v
), placed AS (
  SELECT
    k0,
    v,
    w,
    0 + (
      SUM(w) OVER (PARTITION BY k0 ORDER BY v) - w
    ) AS below,
    SUM(w) OVER (PARTITION BY k0) AS n
  FROM found
)
SELECT
  k0,
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
  k0,
  v;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  [dpsql_release_0.a1, dpsql_release_0.a0] AS "ends",
  dpsql_release_0.a2 AS "quantile_disc"
FROM dpsql_release_0;
