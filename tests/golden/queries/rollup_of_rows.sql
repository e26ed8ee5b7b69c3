SELECT sex, region, COUNT(*) FROM patient GROUP BY ROLLUP (sex, region);

-- ----
-- release 0
-- groups: public, at most 12
--   k0: sex (text)
--   k1: region (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose sex is not one of the 2 declared values are in no group
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t1."sex" = CAST('F' AS TEXT)
        THEN CAST('F' AS TEXT)
        WHEN t1."sex" = CAST('M' AS TEXT)
        THEN CAST('M' AS TEXT)
        ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
      END AS k0,
      t1."region" AS k1
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0,
    k1
), keys AS (
  SELECT
    p0.k0 AS k0,
    p1.k1 AS k1
  FROM (
    SELECT DISTINCT
      CAST(CASE
        WHEN d_t1_1.x = CAST('F' AS TEXT)
        THEN CAST('F' AS TEXT)
        WHEN d_t1_1.x = CAST('M' AS TEXT)
        THEN CAST('M' AS TEXT)
        ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
      END AS TEXT) AS k0
    FROM (
      SELECT
        x
      FROM (VALUES
        (CAST('F' AS TEXT)),
        (CAST('M' AS TEXT)),
        (CAST('M?' AS TEXT))) AS v(x)
    ) AS d_t1_1
  ) AS p0
  CROSS JOIN (
    SELECT DISTINCT
      CAST(d_t1_7.x AS TEXT) AS k1
    FROM (
      SELECT DISTINCT
        "name" AS x
      FROM "main"."region"
      WHERE
        NOT "name" IS NULL
      UNION ALL
      SELECT
        NULL AS x
    ) AS d_t1_7
  ) AS p1
)
SELECT
  keys.k0,
  keys.k1,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0 AND keys.k1 IS NOT DISTINCT FROM released.k1
ORDER BY
  keys.k0,
  keys.k1;

-- release 1
-- groups: public, at most 3
--   k0: sex (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t1."sex" = CAST('F' AS TEXT)
        THEN CAST('F' AS TEXT)
        WHEN t1."sex" = CAST('M' AS TEXT)
        THEN CAST('M' AS TEXT)
        ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
      END AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(CASE
      WHEN d_t1_1.x = CAST('F' AS TEXT)
      THEN CAST('F' AS TEXT)
      WHEN d_t1_1.x = CAST('M' AS TEXT)
      THEN CAST('M' AS TEXT)
      ELSE CAST('dpsql undeclared values 4c1d86b90f5ea237' AS TEXT)
    END AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT)),
      (CAST('M?' AS TEXT))) AS v(x)
  ) AS d_t1_1
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- release 2
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
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.k1 AS "region",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0_1;
