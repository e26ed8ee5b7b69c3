-- Whether there is a row: the people who have one are counted, and one person moves that by 1.
SELECT 1 AS a FROM visit WHERE cost > 10 LIMIT 1

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: the people who have a row (steps of 1, at most 1)
-- a0: the people who have a row (bigint) = s0, rounded, at least 0
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      t1."cost" > CAST(10 AS DECIMAL(8, 2))
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CASE WHEN s0 > 0 THEN 1 ELSE 0 END AS s0
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
  1 AS a
FROM (
  SELECT
    CASE WHEN dpsql_release_0.a0 > COALESCE(dpsql_release_0.a0_margin, 0) THEN TRUE END AS "found"
  FROM dpsql_release_0
) AS asked
WHERE
  asked.found;
