-- COUNT of a column leaves NULLs out.
SELECT COUNT(diagnosis) AS known FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(diagnosis) (steps of 1, at most 1)
-- a0: COUNT(diagnosis) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*) FILTER(WHERE
        f0)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      NOT t1."diagnosis" IS NULL AS f0
    FROM "main"."patient" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "known"
FROM dpsql_release_0;
