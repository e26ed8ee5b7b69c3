-- Of two WITH queries only the difference is shown: one release measures it.
WITH f AS (SELECT COUNT(*) AS n FROM patient WHERE sex = 'F'), m AS (SELECT COUNT(*) AS n FROM patient WHERE sex = 'M')
SELECT f.n - m.n AS more FROM f, m;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) FILTER(WHERE sex = 'F') - COUNT(*) FILTER(WHERE sex = 'M') (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE sex = 'F') - COUNT(*) FILTER(WHERE sex = 'M') (bigint) = s0, rounded
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t3."id" AS u,
      LEAST(
        GREATEST(
          CAST((
            CASE WHEN t3."sex" = 'F' THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END + CASE WHEN t3."sex" = 'M' THEN CAST(1 AS BIGINT) ELSE CAST(0 AS BIGINT) END * CAST((
              -1
            ) AS BIGINT)
          ) AS BIGINT),
          (
            -1
          )
        ),
        1
      ) AS v0
    FROM "main"."patient" AS t3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS more
FROM dpsql_release_0;
