-- The most common of the declared values, by group; of booleans too
SELECT sex, MODE() WITHIN GROUP (ORDER BY smoker) AS smokes, COUNT(*) FROM patient GROUP BY sex

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: MODE() WITHIN GROUP (ORDER BY smoker) (boolean) = picked, number 0 of q0
-- a1: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: MODE is approximate: one of the most common of the declared values, NULL where hardly anybody is
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

-- q0: MODE() WITHIN GROUP (ORDER BY smoker): the mode of False, True
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
          CAST(CASE WHEN t1."smoker" = CAST(FALSE AS BOOLEAN) THEN 0 WHEN t1."smoker" = CAST(TRUE AS BOOLEAN) THEN 1 END AS BIGINT) AS v
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
ORDER BY
  k0,
  v;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "smokes",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
