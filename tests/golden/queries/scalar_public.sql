SELECT COUNT(*) FROM patient WHERE region = (SELECT name FROM region WHERE population = 100) AND height_cm > (SELECT AVG(population) FROM region);

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
    WHERE
      t1."region" = (
        (
          SELECT
            MIN(one.c0)
          FROM (
            SELECT
              t2."name" AS c0
            FROM "main"."region" AS t2
            WHERE
              t2."population" = 100
          ) AS one
          HAVING
            COUNT(*) <= 1
        )
      )
      AND CAST(t1."height_cm" AS DOUBLE) > (
        (
          SELECT
            MIN(one.c0)
          FROM (
            SELECT
              t4.a0 AS c0
            FROM (
              SELECT
                (
                  CAST(SUM(t3."population") AS DOUBLE) / CAST(COUNT(t3."population") AS DOUBLE)
                ) AS a0
              FROM "main"."region" AS t3
            ) AS t4
          ) AS one
          HAVING
            COUNT(*) <= 1
        )
      )
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
