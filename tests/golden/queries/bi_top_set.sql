-- Tableau's set of the largest groups, joined where NULL equals NULL.
SELECT "visit"."reason" AS "reason", SUM("visit"."cost") AS "sum:cost:ok" FROM "visit" "visit" INNER JOIN (SELECT "visit"."reason" AS "reason", SUM("visit"."cost") AS "$__alias__0" FROM "visit" "visit" GROUP BY 1 ORDER BY 2 DESC NULLS LAST, 1 ASC LIMIT 3) "t0" ON (("visit"."reason" = "t0"."reason") OR (("visit"."reason" IS NULL) AND ("t0"."reason" IS NULL))) GROUP BY 1;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/6400 · s0
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t2."patient_id" AS u
    FROM "main"."visit" AS t2
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
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t2."patient_id" AS u,
      t2."reason" AS k0,
      CASE
        WHEN t2."cost" < 0
        THEN 0
        WHEN t2."cost" > 5000
        THEN 500000
        ELSE CAST(t2."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t2
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
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1
  FROM (
    SELECT
      k0,
      CAST((
        COALESCE(SUM(v0), 0)
      ) AS INT128) * 64 AS s0,
      CAST((
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 64 AS s1
    FROM (
      SELECT
        t2."patient_id" AS u,
        t2."reason" AS k0,
        CASE
          WHEN t2."cost" < 0
          THEN 0
          WHEN t2."cost" > 5000
          THEN 500000
          ELSE CAST(t2."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v0
      FROM "main"."visit" AS t2
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s0 * 64
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s1 * 64
        END
      ) AS s1
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
    CAST(d_t2_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t2_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- release 1
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/6400 · s0
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t3."patient_id" AS u
    FROM "main"."visit" AS t3
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
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t3."patient_id" AS u,
      t3."reason" AS k0,
      CASE
        WHEN t3."cost" < 0
        THEN 0
        WHEN t3."cost" > 5000
        THEN 500000
        ELSE CAST(t3."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t3
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
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1
  FROM (
    SELECT
      k0,
      CAST((
        COALESCE(SUM(v0), 0)
      ) AS INT128) * 64 AS s0,
      CAST((
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 64 AS s1
    FROM (
      SELECT
        t3."patient_id" AS u,
        t3."reason" AS k0,
        CASE
          WHEN t3."cost" < 0
          THEN 0
          WHEN t3."cost" > 5000
          THEN 500000
          ELSE CAST(t3."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v0
      FROM "main"."visit" AS t3
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s0 * 64
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s1 * 64
        END
      ) AS s1
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
    CAST(d_t3_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t3_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- release 2
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1280000000
--   s0: Σ(cost - 0) (steps of 1/6400, at most 1280000000)
--   s1: Σ(5000 - cost) (steps of 1/6400, at most 1280000000)
-- a0: SUM(cost) (decimal(38,2)) = 1/6400 · s0
-- a1: COUNT(*) (bigint) = 1/32000000 · s0 + 1/32000000 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t4."patient_id" AS u
    FROM "main"."visit" AS t4
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
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t4."patient_id" AS u,
      t4."reason" AS k0,
      CASE
        WHEN t4."cost" < 0
        THEN 0
        WHEN t4."cost" > 5000
        THEN 500000
        ELSE CAST(t4."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."visit" AS t4
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
    CAST(CASE WHEN s0 > 20480000000 THEN 20480000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20480000000 THEN 20480000000 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.n0 AS INT128) * clamped.n0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS INT128) * clamped.n0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1
  FROM (
    SELECT
      k0,
      CAST((
        COALESCE(SUM(v0), 0)
      ) AS INT128) * 64 AS s0,
      CAST((
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 500000
      ) AS INT128) * 64 AS s1
    FROM (
      SELECT
        t4."patient_id" AS u,
        t4."reason" AS k0,
        CASE
          WHEN t4."cost" < 0
          THEN 0
          WHEN t4."cost" > 5000
          THEN 500000
          ELSE CAST(t4."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v0
      FROM "main"."visit" AS t4
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s0 * 64
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 64e0) AS BIGINT)
          ELSE clamped.s1 * 64
        END
      ) AS s1
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
    CAST(d_t4_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t4_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "sum:cost:ok"
FROM dpsql_release_0
WHERE
  (
    dpsql_release_0.k0 IN (
      SELECT
        "t0".reason AS "reason"
      FROM (
        SELECT
          dpsql_release_2.k0 AS "reason",
          dpsql_release_2.a0 AS "$__alias__0"
        FROM dpsql_release_2
        WHERE
          dpsql_release_2.dpsql_present_0
        ORDER BY
          2 DESC,
          1 ASC
        LIMIT 3
      ) AS "t0"
    )
    OR (
      dpsql_release_0.k0 IS NULL
      AND EXISTS(
        SELECT
          1 AS "?column?"
        FROM (
          SELECT
            dpsql_release_1.k0 AS "reason",
            dpsql_release_1.a0 AS "$__alias__0"
          FROM dpsql_release_1
          WHERE
            dpsql_release_1.dpsql_present_0
          ORDER BY
            2 DESC,
            1 ASC
          LIMIT 3
        ) AS "t0"
        WHERE
          "t0".reason IS NULL
      )
    )
  )
  AND dpsql_release_0.dpsql_shown_0;
