SELECT COUNT(*) FROM (SELECT reason FROM visit WHERE cost > 10 UNION SELECT reason FROM visit WHERE cost < 5) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 4, l2 4
--   s0: COUNT(DISTINCT (reason, TRUE)) (steps of 1, at most 4)
-- a0: COUNT(DISTINCT (reason, TRUE)) (bigint) = s0, rounded, at least 0, at most 4
-- note: each person counts with at most 80 rows
-- note: COUNT(DISTINCT (reason, TRUE)) credits each person with at most 4 values
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
        WHERE
          t1."cost" > CAST(10 AS DECIMAL(8, 2))
        UNION ALL
        SELECT
          t2."reason" AS c0,
          t2."patient_id" AS u
        FROM "main"."visit" AS t2
        WHERE
          t2."cost" < CAST(5 AS DECIMAL(8, 2))
      ) AS t3
    ) AS t4
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
      SELECT
        dpsql_release_0.a0 AS "count"
      FROM dpsql_release_0
    )
  ) AS "count";
