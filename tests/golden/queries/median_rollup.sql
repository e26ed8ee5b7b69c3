-- Each grouping set is picked for itself.
SELECT sex, MEDIAN(height_cm), COUNT(*) FROM patient GROUP BY ROLLUP (sex);

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: MEDIAN(height_cm) (double) = picked, number 0 of q0
-- a1: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
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
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- q0: MEDIAN(height_cm): quantiles 1/2 of 40 … 220
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

-- release 1
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: MEDIAN(height_cm) (double) = picked, number 0 of q0
-- a1: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

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
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "median",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
