-- clipped in l1
SELECT region, COUNT(DISTINCT (reason, v.day)) FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY region

-- ----
-- release 0
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 40, l2 40
--   s0: COUNT(DISTINCT (reason, day)) (steps of 1, at most 40)
-- one unit moves: l1 40, l2 40
--   s1: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(DISTINCT (reason, day)) (bigint) = s0, rounded, at least 0, at most 8768
-- a1: COUNT(*) (bigint) = s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: COUNT(DISTINCT (reason, day)) credits each person with at most 40 values
-- note: the number of different rows is at most 8,768: as many values are declared
-- note: rows whose region is not in region.name are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s1
  FROM (
    SELECT
      t2."id" AS u,
      t2."region" AS k0,
      t1."reason" AS v0,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS v1
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
    CAST(CASE WHEN s1 > 40 THEN 40 ELSE s1 END AS BIGINT) AS s1
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s1) AS s1
  FROM clamped
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t2_7.x AS TEXT) AS k0
  FROM (
    SELECT DISTINCT
      "name" AS x
    FROM "main"."region"
    WHERE
      NOT "name" IS NULL
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t2_7
), distinct_s0 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t2."id" AS u,
      t2."region" AS k0,
      t1."reason" AS v0,
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS v1
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    GROUP BY
      u
    HAVING
      COUNT(*) > 40
  )
  SELECT
    k0,
    COUNT(*) AS s0
  FROM (
    SELECT DISTINCT
      k0,
      v0,
      v1
    FROM (
      SELECT
        k0,
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
        k0,
        v0,
        v1
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, k0, v0, v1) AS q
        FROM (
          SELECT
            *,
            LEFT(
              MD5(
                CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(k0 AS TEXT)), ',', MD5(CAST(v0 AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))
              ),
              12
            ) AS h
          FROM (
            SELECT DISTINCT
              u,
              k0,
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
        q <= 40
    ) AS d
  ) AS d
  GROUP BY
    k0
)
SELECT
  keys.k0,
  COALESCE(distinct_s0.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
LEFT JOIN distinct_s0
  ON keys.k0 IS NOT DISTINCT FROM distinct_s0.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "region",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
