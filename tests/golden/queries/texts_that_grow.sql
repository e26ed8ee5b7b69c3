-- What makes a text longer is NULL where it could become too long; nested, it has one guard.
SELECT REPEAT(REPLACE(diagnosis, '-', ' - '), 2) || ': ' || region AS what, COUNT(*) AS n
FROM (SELECT diagnosis, CONCAT(region, ' ', sex) AS region FROM patient WHERE LENGTH(LPAD(diagnosis, 9) || sex) > 9) AS p
GROUP BY what;

-- ----
-- release 0
-- groups: selected
--   k0: REPEAT(REPLACE(diagnosis, '-', ' - '), 2) || ': ' || CONCAT(region, ' ', sex) (text)
-- selection: weight s0 in 1/1, at most 1 groups
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN STRLEN(t1."diagnosis") * 6 + COALESCE(STRLEN(t1."region"), 0) + COALESCE(STRLEN(t1."sex"), 0) <= 65533
        THEN REPEAT(REPLACE(t1."diagnosis", '-', ' - '), 2) || ': ' || CONCAT(t1."region", ' ', t1."sex")
      END AS k0
    FROM "main"."patient" AS t1
    WHERE
      LENGTH(CASE WHEN STRLEN(t1."sex") <= 65527 THEN LPAD(t1."diagnosis", 9, ' ') || t1."sex" END) > 9
  ) AS r
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "what",
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
