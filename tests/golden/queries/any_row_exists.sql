-- The clinic has one row for each patient: the count is that of COUNT(*).
SELECT CASE WHEN EXISTS (SELECT * FROM patient WHERE height_cm > 190 ORDER BY id LIMIT 1) THEN 'yes' ELSE 'no' END AS tall

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: the rows (steps of 1, at most 1)
-- a0: the rows (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u
    FROM "main"."patient" AS t2
    WHERE
      t2."height_cm" > 190
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  CASE
    WHEN COALESCE(
      (
        SELECT
          CASE WHEN dpsql_release_0.a0 > COALESCE(dpsql_release_0.a0_margin, 0) THEN TRUE END AS "found"
        FROM dpsql_release_0
      ),
      FALSE
    )
    THEN 'yes'
    ELSE 'no'
  END AS tall;
