-- COUNT and SUM of a CASE are counts.
SELECT COUNT(CASE WHEN smoker THEN 1 END) AS smokers, SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1399, l2 √1048165
--   s0: weighted rows 1 (steps of 1/1024, at most 1399)
--   s1: weighted rows 2 (steps of 1/1024, at most 1399)
-- a0: COUNT(CASE WHEN smoker THEN 1 END) (bigint) = 1/1023 · s0 + 85/151063 · s1, rounded, at least 0
-- a1: SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) (bigint) = 1/886 · s1, rounded, at least 0
-- note: 2 counts are measured together, which takes less noise: by sums in which some rows weigh more than others
WITH released AS (
  SELECT
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 513 + CAST(COUNT(*) FILTER(WHERE
        g0 = 1) AS INT128) * 1023 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * (
        -510
      )
    ) AS s0,
    (
      CAST(COUNT(*) FILTER(WHERE
        g0 = 0) AS INT128) * 886 + CAST(COUNT(*) FILTER(WHERE
        g0 = 2) AS INT128) * 886
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      CASE WHEN t1."smoker" THEN CASE WHEN t1."sex" = 'F' THEN 0 ELSE 1 END WHEN t1."sex" = 'F' THEN 2 END AS g0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "smokers",
  dpsql_release_0.a1 AS "women"
FROM dpsql_release_0;
