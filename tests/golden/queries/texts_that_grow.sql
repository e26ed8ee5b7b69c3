-- What makes a text longer is NULL where it could become too long; nested, it has one guard.
SELECT REPEAT(REPLACE(diagnosis, '-', ' - '), 2) || ': ' || region AS what, COUNT(*) AS n
FROM (SELECT diagnosis, CONCAT(region, ' ', sex) AS region FROM patient WHERE LENGTH(LPAD(diagnosis, 9) || sex) > 9) AS p
GROUP BY what;

-- ----
-- release 0
-- groups: selected
--   k0: REPEAT(REPLACE(diagnosis, '-', ' - '), 2) || ': ' || region (text)
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
      t2.u AS u,
      CASE
        WHEN STRLEN(t2.c0) * 6 + STRLEN(t2.c1) <= 65534
        THEN REPEAT(REPLACE(t2.c0, '-', ' - '), 2) || ': ' || t2.c1
      END AS k0
    FROM (
      SELECT
        t1."diagnosis" AS c0,
        CASE
          WHEN COALESCE(STRLEN(t1."region"), 0) + COALESCE(STRLEN(t1."sex"), 0) <= 65535
          THEN CONCAT(t1."region", ' ', t1."sex")
        END AS c1,
        t1."id" AS u
      FROM "main"."patient" AS t1
      WHERE
        LENGTH(CASE WHEN STRLEN(t1."sex") <= 65527 THEN LPAD(t1."diagnosis", 9, ' ') || t1."sex" END) > 9
    ) AS t2
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
