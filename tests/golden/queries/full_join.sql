SELECT COUNT(*) FROM patient p FULL JOIN visit v ON p.id = v.patient_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 41, l2 41
--   s0: COUNT(*) (steps of 1, at most 41)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 41 rows
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      COALESCE(t1."id", t2."patient_id") AS u
    FROM "main"."patient" AS t1
    FULL JOIN "main"."visit" AS t2
      ON t1."id" = t2."patient_id"
  ) AS r
  GROUP BY
    u
  HAVING
    u IN (
      SELECT
        "id"
      FROM "main"."patient"
    )
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 41 THEN 41 ELSE s0 END AS BIGINT) AS s0
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
