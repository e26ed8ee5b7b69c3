SELECT COUNT(*) FROM (SELECT batch_id, MAX(patient_id) AS patient_id FROM sample GROUP BY batch_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 200, l2 200
--   s0: COUNT(DISTINCT (batch_id, TRUE)) (steps of 1, at most 200)
-- a0: COUNT(DISTINCT (batch_id, TRUE)) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 200 rows (max_rows of sample)
-- note: COUNT(DISTINCT (batch_id, TRUE)) credits each person with at most 200 values
WITH distinct_s0 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t1."patient_id" AS u,
      t1."batch_id" AS v0,
      TRUE AS v1
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result"
      FROM "main"."sample" AS t1
      JOIN "main"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id" AND t1_0."patient_id" = t1."patient_id"
    ) AS t1
    WHERE
      NOT t1."patient_id" IS NULL
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    GROUP BY
      u
    HAVING
      COUNT(*) > 200
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
        q <= 200
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
