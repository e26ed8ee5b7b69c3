SELECT COUNT(*) FROM (SELECT id FROM patient EXCEPT SELECT patient_id FROM visit) AS t;

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
      t4.u AS u
    FROM (
      SELECT
        t3.c0 AS c0,
        t3.u AS u
      FROM (
        SELECT
          t1."id" AS c0,
          t1."id" AS u
        FROM "main"."patient" AS t1
        EXCEPT
        SELECT
          t2."patient_id" AS c0,
          t2."patient_id" AS u
        FROM "main"."visit" AS t2
      ) AS t3
    ) AS t4
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
