SELECT COUNT(*) FROM patient p WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND v.reason = 'acute');

-- ----
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
      t1."id" AS u
    FROM "main"."patient" AS t1
    WHERE
      NOT (
        t1."id" IN (
          SELECT
            t2."patient_id"
          FROM "main"."visit" AS t2
          WHERE
            t2."reason" = 'acute' AND NOT t2."patient_id" IS NULL
        )
      )
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
