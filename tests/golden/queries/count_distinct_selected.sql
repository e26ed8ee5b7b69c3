-- A value that belongs to one person adds up: the visit's key.
SELECT p.diagnosis, COUNT(DISTINCT v.id), COUNT(DISTINCT v.day) FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY 1

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
-- one unit moves: l1 40, l2 40
--   s0: COUNT(DISTINCT id) (steps of 1, at most 40)
-- one unit moves: l1 40, l2 40
--   s1: COUNT(DISTINCT day) (steps of 1, at most 40)
-- a0: COUNT(DISTINCT id) (bigint) = s0, rounded, at least 0
-- a1: COUNT(DISTINCT day) (bigint) = s1, rounded, at least 0, at most 2192
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: COUNT(DISTINCT day) credits each person with at most 40 values
-- note: COUNT(DISTINCT day) is at most 2,192: as many values are declared
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(DISTINCT v0)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u,
      t2."diagnosis" AS k0,
      t1."id" AS v0,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS v1,
      NOT CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL AS f2
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s0) AS s0,
    SUM(1) AS w
  FROM clamped
  GROUP BY
    clamped.k0
), distinct_s1 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t2."id" AS u,
      t2."diagnosis" AS k0,
      t1."id" AS v0,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS v1,
      NOT CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL AS f2
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    WHERE
      f2
    GROUP BY
      u
    HAVING
      COUNT(*) > 40
  )
  SELECT
    k0,
    COUNT(*) AS s1
  FROM (
    SELECT DISTINCT
      k0,
      v1
    FROM (
      SELECT
        k0,
        v1
      FROM people AS r
      WHERE
        f2 AND NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        k0,
        v1
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, k0, v1) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(k0 AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              k0,
              v1
            FROM people AS r
            WHERE
              f2 AND r.u IN (
                SELECT
                  u
                FROM many
              )
          ) AS d
        ) AS d
      ) AS d
      WHERE
        q <= 40
    ) AS d
  ) AS d
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(distinct_s1.s1, 0) AS s1,
  COALESCE(released.w, 0) AS w
FROM released
LEFT JOIN distinct_s1
  ON released.k0 IS NOT DISTINCT FROM distinct_s1.k0
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
