-- Other joins are other rows, and other releases.
SELECT (SELECT COUNT(*) FROM visit WHERE reason = 'acute') AS acute,
  (SELECT COUNT(*) FROM visit v JOIN patient p ON p.id = v.patient_id WHERE p.sex = 'F') AS of_women;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t1."patient_id" = t2."id"
    WHERE
      t2."sex" = 'F'
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- release 1
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3."patient_id" AS u
    FROM "main"."visit" AS t3
    WHERE
      t3."reason" = 'acute'
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_1.a0 AS acute,
  dpsql_release_0.a0 AS of_women
FROM dpsql_release_1
CROSS JOIN dpsql_release_0;
