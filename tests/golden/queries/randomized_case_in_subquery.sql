SELECT AVG(n) FROM (SELECT CASE WHEN drinks = 'yes' THEN 1 ELSE 0 END AS n FROM survey) AS x;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE drinks = 'yes') (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE drinks = 'no') (steps of 1, at most 1)
-- a0: AVG(CASE WHEN drinks = 'yes' THEN 1 ELSE 0 END) (double) = mean by reports: 1.499 · (1 · s0) + -0.499 · (1 · s1), of [1, 1], ±√(0.7479 to 0.7479); -0.499 · (1 · s0) + 1.499 · (1 · s1), of [0, 0], ±√(0.7479 to 0.7479); 1 rows a person
-- note: people randomized this column themselves, and answers are freed of it (drinks: randomized response of 2 values at ε = 1.1)
WITH released AS (
  SELECT
    (
      COUNT(*) FILTER(WHERE
        g0 = 0)
    ) AS s0,
    (
      COUNT(*) FILTER(WHERE
        g0 = 1)
    ) AS s1
  FROM (
    SELECT
      t1."patient_id" AS u,
      CASE WHEN t1."drinks" = 'yes' THEN 0 WHEN t1."drinks" = 'no' THEN 1 END AS g0
    FROM "main"."survey" AS t1
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg"
FROM dpsql_release_0;
