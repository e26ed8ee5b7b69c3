SELECT COUNT(*) FROM (SELECT reason FROM visit INTERSECT SELECT diagnosis FROM patient) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 41, l2 41
--   s0: COUNT(DISTINCT (reason, TRUE)) (steps of 1, at most 41)
-- a0: COUNT(DISTINCT (reason, TRUE)) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 41 rows
-- note: COUNT(DISTINCT (reason, TRUE)) credits each person with at most 41 values
WITH distinct_s0 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t4.u AS u,
      t4.c0 AS v0,
      TRUE AS v1
    FROM (
      SELECT
        t3.c0 AS c0,
        t3.u AS u
      FROM (
        SELECT
          t1."reason" AS c0,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
        UNION ALL
        SELECT
          t2."diagnosis" AS c0,
          t2."id" AS u
        FROM "main"."patient" AS t2
      ) AS t3
    ) AS t4
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    GROUP BY
      u
    HAVING
      COUNT(*) > 41
  )
  SELECT
    COUNT(*) AS s0
  FROM (
    SELECT DISTINCT
      v0,
      v1
    FROM (
      SELECT
        v0,
        v1
      FROM people AS r
      WHERE
        NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        v0,
        v1
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, v0, v1) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(v0 AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              v0,
              v1
            FROM people AS r
            WHERE
              r.u IN (
                SELECT
                  u
                FROM many
              )
          ) AS d
        ) AS d
      ) AS d
      WHERE
        q <= 41
    ) AS d
  ) AS d
)
SELECT
  COALESCE(distinct_s0.s0, 0) AS s0
FROM distinct_s0;

-- release 1
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(DISTINCT (diagnosis, TRUE)) (steps of 1, at most 1)
-- a0: COUNT(DISTINCT (diagnosis, TRUE)) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(DISTINCT (v0, v1))
    ) AS s0
  FROM (
    SELECT
      t6.u AS u,
      t6.c0 AS v0,
      TRUE AS v1
    FROM (
      SELECT
        t5."diagnosis" AS c0,
        t5."id" AS u
      FROM "main"."patient" AS t5
    ) AS t6
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- release 2
-- groups: one group
-- one unit moves: l1 4, l2 4
--   s0: COUNT(DISTINCT (reason, TRUE)) (steps of 1, at most 4)
-- a0: COUNT(DISTINCT (reason, TRUE)) (bigint) = s0, rounded, at least 0, at most 4
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: COUNT(DISTINCT (reason, TRUE)) credits each person with at most 4 values
-- note: the number of different rows is at most 4: as many values are declared
WITH distinct_s0 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t8.u AS u,
      t8.c0 AS v0,
      TRUE AS v1
    FROM (
      SELECT
        t7."reason" AS c0,
        t7."patient_id" AS u
      FROM "main"."visit" AS t7
    ) AS t8
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    GROUP BY
      u
    HAVING
      COUNT(*) > 4
  )
  SELECT
    COUNT(*) AS s0
  FROM (
    SELECT DISTINCT
      v0,
      v1
    FROM (
      SELECT
        v0,
        v1
      FROM people AS r
      WHERE
        NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        v0,
        v1
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, v0, v1) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(v0 AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              v0,
              v1
            FROM people AS r
            WHERE
              r.u IN (
                SELECT
                  u
                FROM many
              )
          ) AS d
        ) AS d
      ) AS d
      WHERE
        q <= 4
    ) AS d
  ) AS d
)
SELECT
  COALESCE(distinct_s0.s0, 0) AS s0
FROM distinct_s0;

-- outer
SELECT
  (
    (
      dpsql_release_2.a0 + dpsql_release_1.a0
    ) - dpsql_release_0.a0
  ) AS "count"
FROM dpsql_release_0
CROSS JOIN dpsql_release_2
CROSS JOIN dpsql_release_1;
