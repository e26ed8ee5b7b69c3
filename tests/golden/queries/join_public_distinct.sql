SELECT COUNT(*) FROM patient AS p JOIN (SELECT DISTINCT name FROM region WHERE population > 100 UNION SELECT country FROM region) AS r ON p.region = r.name;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
    JOIN (
      SELECT
        t7.k0 AS c0
      FROM (
        SELECT
          t6.c0 AS k0
        FROM (
          SELECT
            t5.c0 AS c0
          FROM (
            SELECT
              t3.k0 AS c0
            FROM (
              SELECT
                t2."name" AS k0
              FROM "main"."region" AS t2
              WHERE
                t2."population" > 100
              GROUP BY
                t2."name"
            ) AS t3
            UNION ALL
            SELECT
              t4."country" AS c0
            FROM "main"."region" AS t4
          ) AS t5
        ) AS t6
        GROUP BY
          t6.c0
      ) AS t7
    ) AS t8
      ON t1."region" = t8.c0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
