-- People are counted, not rows: a table that only chooses them is asked whether it has a match, and repeats nobody.
SELECT p.sex, COUNT(DISTINCT p.id) FROM patient AS p JOIN visit AS v ON v.patient_id = p.id WHERE v.cost > 100 AND p.smoker GROUP BY 1

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(DISTINCT id) (steps of 1, at most 1)
-- a0: COUNT(DISTINCT id) (bigint) = s0, rounded, at least 0
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."sex" AS k0
    FROM "main"."patient" AS t1
    WHERE
      t1."smoker"
      AND EXISTS(
        SELECT
          1
        FROM "main"."visit" AS t2
        WHERE
          t1."id" = t2."patient_id" AND t2."cost" > CAST(100 AS DECIMAL(8, 2))
      )
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s0) AS s0
  FROM clamped
  GROUP BY
    clamped.k0
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

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
