SELECT COUNT(*) FROM patient p, LATERAL (SELECT * FROM visit v WHERE v.patient_id = p.id) AS t;

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
      t1."id" AS u
    FROM "main"."patient" AS t1
    JOIN "main"."visit" AS t2
      ON t1."id" = t2."patient_id"
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
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
