-- A declared domain bounds the values of a person and the answer; other aggregates are measured beside it.
SELECT date_trunc('year', day) AS year, COUNT(*), COUNT(DISTINCT reason), COUNT(DISTINCT cost) FILTER (WHERE reason = 'acute') FROM visit GROUP BY 1

-- ----
-- release 0
-- groups: public, at most 6
--   k0: DATE_TRUNC('YEAR', day) (timestamp)
-- one unit moves: l1 18, l2 √54
--   s0: COUNT(DISTINCT reason) (steps of 1, at most 3)
-- one unit moves: l1 40, l2 40
--   s1: COUNT(DISTINCT cost) FILTER(WHERE reason = 'acute') (steps of 1, at most 40)
-- one unit moves: l1 None, l2 1342177280
--   s2: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s2, rounded, at least 0
-- a1: COUNT(DISTINCT reason) (bigint) = s0, rounded, at least 0, at most 3
-- a2: COUNT(DISTINCT cost) FILTER(WHERE reason = 'acute') (bigint) = s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: COUNT(DISTINCT reason) credits each person with at most 3 values in a group, and 18 in all
-- note: COUNT(DISTINCT cost) FILTER(WHERE reason = 'acute') credits each person with at most 40 values
-- note: COUNT(DISTINCT reason) is at most 3: as many values are declared
-- note: rows whose day is outside of 2020-01-01 to 2025-12-31 are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s2
  FROM (
    SELECT
      t1."patient_id" AS u,
      DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
      t1."reason" AS v0,
      NOT t1."reason" IS NULL AS f1,
      CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
      t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
    FROM "main"."visit" AS t1
  ) AS r
  WHERE
    u IN (
      SELECT
        u
      FROM suspect
    )
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    s2
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s2 AS INT128) * clamped.s2) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.s2 AS INT128) * clamped.s2) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s2 AS INT128) * clamped.s2) > 1600
), released AS (
  SELECT
    k0,
    SUM(s2) AS s2
  FROM (
    SELECT
      k0,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s2
    FROM (
      SELECT
        t1."patient_id" AS u,
        DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
        t1."reason" AS v0,
        NOT t1."reason" IS NULL AS f1,
        CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
        t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
      FROM "main"."visit" AS t1
    ) AS r
    WHERE
      NOT u IN (
        SELECT
          u
        FROM suspect
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor * 33554432e0) AS BIGINT)
          ELSE LEAST(clamped.s2, 40) * 33554432
        END
      ) AS s2
    FROM clamped
    LEFT JOIN scale
      ON clamped.u = scale.u
    GROUP BY
      clamped.k0
  ) AS b
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(DATE_TRUNC('YEAR', d_t1_2.x) AS TIMESTAMP) AS k0
  FROM (
    SELECT DISTINCT
      CAST(DATE_TRUNC('YEAR', d_t1_2.x) AS DATE) AS x
    FROM (
      SELECT
        CAST(g.n AS DATE) AS x
      FROM GENERATE_SERIES(
        CAST(CAST(CAST('2020-01-01' AS DATE) AS DATE) AS TIMESTAMP),
        CAST(CAST(CAST('2025-12-31' AS DATE) AS DATE) AS TIMESTAMP),
        CAST('0 months 1 days 0 microseconds' AS INTERVAL)
      ) AS g(n)
    ) AS d_t1_2
  ) AS d_t1_2
), distinct_s0 AS (
  WITH many AS MATERIALIZED (
    SELECT
      u
    FROM (
      SELECT
        u,
        COUNT(*) AS n
      FROM (
        SELECT
          t1."patient_id" AS u,
          DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
          t1."reason" AS v0,
          NOT t1."reason" IS NULL AS f1,
          CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
          t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
        FROM "main"."visit" AS t1
      ) AS r
      WHERE
        f1
      GROUP BY
        u,
        k0
    ) AS g
    GROUP BY
      u
    HAVING
      SUM(n) > 18 OR MAX(n) > 3
  )
  SELECT
    k0,
    COUNT(*) AS s0
  FROM (
    SELECT DISTINCT
      k0,
      v0
    FROM (
      SELECT
        k0,
        v0
      FROM (
        SELECT
          t1."patient_id" AS u,
          DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
          t1."reason" AS v0,
          NOT t1."reason" IS NULL AS f1,
          CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
          t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
        FROM "main"."visit" AS t1
      ) AS r
      WHERE
        f1 AND NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        k0,
        v0
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY p, h, k0, v0) AS q
        FROM (
          SELECT
            *,
            ROW_NUMBER() OVER (PARTITION BY u, k0 ORDER BY h, k0, v0) AS p
          FROM (
            SELECT
              *,
              LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(k0 AS TEXT)), ',', MD5(CAST(v0 AS TEXT)))), 12) AS h
            FROM (
              SELECT DISTINCT
                u,
                k0,
                v0
              FROM (
                SELECT
                  t1."patient_id" AS u,
                  DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
                  t1."reason" AS v0,
                  NOT t1."reason" IS NULL AS f1,
                  CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
                  t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
                FROM "main"."visit" AS t1
              ) AS r
              WHERE
                f1 AND r.u IN (
                  SELECT
                    u
                  FROM many
                )
            ) AS d
          ) AS d
        ) AS d
      ) AS d
      WHERE
        p <= 3 AND q <= 18
    ) AS d
  ) AS d
  GROUP BY
    k0
), distinct_s1 AS (
  WITH many AS MATERIALIZED (
    SELECT
      u
    FROM (
      SELECT
        t1."patient_id" AS u,
        DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
        t1."reason" AS v0,
        NOT t1."reason" IS NULL AS f1,
        CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
        t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
      FROM "main"."visit" AS t1
    ) AS r
    WHERE
      f3
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
      v2
    FROM (
      SELECT
        k0,
        v2
      FROM (
        SELECT
          t1."patient_id" AS u,
          DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
          t1."reason" AS v0,
          NOT t1."reason" IS NULL AS f1,
          CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
          t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
        FROM "main"."visit" AS t1
      ) AS r
      WHERE
        f3 AND NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        k0,
        v2
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, k0, v2) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(k0 AS TEXT)), ',', MD5(CAST(v2 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              k0,
              v2
            FROM (
              SELECT
                t1."patient_id" AS u,
                DATE_TRUNC('YEAR', CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END) AS k0,
                t1."reason" AS v0,
                NOT t1."reason" IS NULL AS f1,
                CAST(t1."cost" AS DECIMAL(8, 2)) AS v2,
                t1."reason" = 'acute' AND NOT t1."cost" IS NULL AS f3
              FROM "main"."visit" AS t1
            ) AS r
            WHERE
              f3 AND r.u IN (
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
  COALESCE(distinct_s1.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
LEFT JOIN distinct_s0
  ON keys.k0 IS NOT DISTINCT FROM distinct_s0.k0
LEFT JOIN distinct_s1
  ON keys.k0 IS NOT DISTINCT FROM distinct_s1.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "year",
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
