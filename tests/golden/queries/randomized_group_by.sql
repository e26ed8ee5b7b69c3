SELECT drinks, COUNT(*) AS n FROM survey GROUP BY drinks ORDER BY n DESC;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: rows with COUNT(*) FILTER(WHERE drinks = 'yes') (steps of 1, at most 1)
--   s1: rows with COUNT(*) FILTER(WHERE drinks = 'no') (steps of 1, at most 1)
-- a0: COUNT(*) FILTER(WHERE (drinks = 'yes')) (bigint) = count by reports: 1.499 · (1 · s0) + -0.499 · (1 · s1), of [1, 1], ±√(0.7479 to 0.7479); 1 rows a person
-- a1: COUNT(*) FILTER(WHERE (drinks = 'no')) (bigint) = count by reports: -0.499 · (1 · s0) + 1.499 · (1 · s1), of [1, 1], ±√(0.7479 to 0.7479); 1 rows a person
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
  dpsql_by_value.dpsql_k0 AS "drinks",
  dpsql_by_value.dpsql_a0 AS "n"
FROM (
  SELECT
    CAST('yes' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a0 AS dpsql_a0
  FROM dpsql_release_0
  UNION ALL
  SELECT
    CAST('no' AS TEXT) AS dpsql_k0,
    dpsql_release_0.a1 AS dpsql_a0
  FROM dpsql_release_0
) AS dpsql_by_value
ORDER BY
  "n" DESC NULLS FIRST;
