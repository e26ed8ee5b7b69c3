SELECT COUNT(*) FROM patient AS p JOIN (SELECT country, MAX(name) AS name FROM region GROUP BY country) AS r ON p.region = r.name;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 3, l2 3
--   s0: COUNT(*) (steps of 1, at most 3)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 3 rows
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
    JOIN (
      SELECT
        t3.k0 AS c0,
        t3.a0 AS c1
      FROM (
        SELECT
          t2."country" AS k0,
          MAX(t2."name") AS a0
        FROM "main"."region" AS t2
        GROUP BY
          t2."country"
      ) AS t3
    ) AS t4
      ON t1."region" = t4.c1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 3 THEN 3 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
