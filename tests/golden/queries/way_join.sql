SELECT COUNT(*) FROM sample AS s JOIN referral AS r ON s.visit_id = r.visit_id;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 4000, l2 4000
--   s0: COUNT(*) (steps of 1, at most 4000)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 4000 rows
-- note: a row counts as up to 200, since it may meet so many of sample: with key: [visit_id] for sample in the policy it meets one
-- note: a row counts as up to 20, since it may meet so many of referral: with key: [visit_id] for referral in the policy it meets one
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."dpsql_unit" AS u
    FROM (
      SELECT
        t1."id",
        t1."visit_id",
        t1."patient_id",
        t1."batch_id",
        t1."result",
        t1_0."patient_id" AS "dpsql_unit"
      FROM "main"."sample" AS t1
      JOIN "main"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id"
    ) AS t1
    JOIN "main"."referral" AS t2
      ON t1."visit_id" = t2."visit_id" AND t1."dpsql_unit" = t2."patient_id"
    WHERE
      NOT t1."dpsql_unit" IS NULL
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 4000 THEN 4000 ELSE s0 END AS BIGINT) AS s0
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
