-- Each person is credited with as many values as they may have rows.
SELECT COUNT(DISTINCT drug) FROM prescription

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 100, l2 100
--   s0: COUNT(DISTINCT drug) (steps of 1, at most 100)
-- a0: COUNT(DISTINCT drug) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: COUNT(DISTINCT drug) credits each person with at most 100 values
WITH distinct_s0 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t1_0."patient_id" AS u,
      t1."drug" AS v0,
      NOT t1."drug" IS NULL AS f1
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    WHERE
      f1
    GROUP BY
      u
    HAVING
      COUNT(*) > 100
  )
  SELECT
    COUNT(*) AS s0
  FROM (
    SELECT DISTINCT
      v0
    FROM (
      SELECT
        v0
      FROM people AS r
      WHERE
        f1 AND NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        v0
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, v0) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(v0 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              v0
            FROM people AS r
            WHERE
              f1 AND r.u IN (
                SELECT
                  u
                FROM many
              )
          ) AS d
        ) AS d
      ) AS d
      WHERE
        q <= 100
    ) AS d
  ) AS d
)
SELECT
  COALESCE(distinct_s0.s0, 0) AS s0
FROM distinct_s0;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
