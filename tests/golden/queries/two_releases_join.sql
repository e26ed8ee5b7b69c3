SELECT a.region, a.n, b.w FROM (SELECT region, COUNT(*) AS n FROM patient GROUP BY region) AS a JOIN (SELECT region, AVG(weight_kg) AS w FROM patient GROUP BY region) AS b ON a.region = b.region;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."region" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_7.x AS TEXT) AS k0
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
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- release 1
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 37838848, l2 √716634150928384
--   s0: rows, each without weight_kg as 9/16 (steps of 1/19529728, at most 37838848)
--   s1: Σ(2·weight_kg - 302) (steps of 1/61440, at most 37838848)
--   s2: rows without weight_kg (steps of 1/24412160, at most 37838848)
-- a0: AVG(weight_kg) (double) = 2 + 298 · a / (a + b), a = 1/39059456 · s0 + -9/781189120 · s2 + 1/36618240 · s1, b = 1/39059456 · s0 + -9/781189120 · s2 + -1/36618240 · s1
-- a1: COUNT(*) (bigint) = 1/19529728 · s0 + 7/390594560 · s2, rounded, at least 0
-- note: weight_kg is clipped into [2, 300]
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) AS INT128) * 10985472 + CAST(COUNT(v0) AS INT128) * 8544256
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -18554880
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 24412160 + CAST(COUNT(v0) AS INT128) * (
        -24412160
      )
    ) AS s2
  FROM (
    SELECT
      t2."id" AS u,
      t2."region" AS k0,
      CASE
        WHEN CASE WHEN t2."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t2."weight_kg" END < 2e0
        THEN 8192
        WHEN CASE WHEN t2."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t2."weight_kg" END > 300e0
        THEN 1228800
        ELSE CAST(CASE WHEN t2."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t2."weight_kg" END * 4096e0 AS BIGINT)
      END AS v0
    FROM "main"."patient" AS t2
  ) AS r
  GROUP BY
    k0
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
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  a.region AS "region",
  a.n AS "n",
  b.w AS "w"
FROM (
  SELECT
    dpsql_release_0.k0 AS "region",
    dpsql_release_0.a0 AS "n"
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS a
JOIN (
  SELECT
    dpsql_release_1.k0 AS "region",
    dpsql_release_1.a0 AS "w"
  FROM dpsql_release_1
  WHERE
    dpsql_release_1.dpsql_present_0
) AS b
  ON a.region = b.region;
