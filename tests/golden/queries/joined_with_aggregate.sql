SELECT COUNT(*) FROM patient p JOIN (SELECT region, AVG(height_cm) AS h FROM patient GROUP BY region) AS t ON p.region = t.region AND p.height_cm > t.h;

-- ----
-- asked first: SELECT patient.region, AVG(patient.height_cm) AS h FROM patient GROUP BY patient.region
-- release 0
-- groups: public, at most 4
--   k0: region (text)
-- one unit moves: l1 5580, l2 √15584400
--   s0: rows, each without height_cm as 9/16 (steps of 1/2880, at most 5580)
--   s1: Σ(2·height_cm - 260) (steps of 1/15, at most 5580)
--   s2: rows without height_cm (steps of 1/3600, at most 5580)
-- a0: AVG(height_cm) (double) = 40 + 180 · a / (a + b), a = 1/5760 · s0 + -1/12800 · s2 + 1/5400 · s1, b = 1/5760 · s0 + -1/12800 · s2 + -1/5400 · s1
-- a1: COUNT(*) (bigint) = 1/2880 · s0 + 7/57600 · s2, rounded, at least 0
-- note: height_cm is clipped into [40, 220]
-- note: rows whose region is not in region.name are in no group
WITH released AS (
  SELECT
    k0,
    (
      CAST(COUNT(*) AS INT128) * 1620 + CAST(COUNT(v0) AS INT128) * 1260
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS INT128) * (
        -3900
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS INT128) * 3600 + CAST(COUNT(v0) AS INT128) * (
        -3600
      )
    ) AS s2
  FROM (
    SELECT
      t1."id" AS u,
      t1."region" AS k0,
      CASE WHEN t1."height_cm" < 40 THEN 40 WHEN t1."height_cm" > 220 THEN 220 ELSE CAST(t1."height_cm" AS BIGINT) END AS v0
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
  dpsql_release_0.k0 AS "region",
  dpsql_release_0.a0 AS "h"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;

-- and then
-- release 0
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
      t2."id" AS u
    FROM "main"."patient" AS t2
    JOIN (
      SELECT
        t3.c0 AS c0,
        t3.c1 AS c1
      FROM (
        SELECT
          CAST(v.c0 AS TEXT) AS c0,
          CAST(v.c1 AS DOUBLE) AS c1
        FROM (VALUES
          (NULL, NULL)) AS v(c0, c1)
      ) AS t3
    ) AS t4
      ON t2."region" = t4.c0
    WHERE
      CAST(t2."height_cm" AS DOUBLE) > t4.c1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
