-- The row goes through what BI tools put around a query, and so does what tells of it.
-- with others
WITH by_score AS (SELECT score, GROUPING(score) AS rest, drug, COUNT(*) AS n FROM prescription GROUP BY score, drug)
SELECT drug, SUM(n) AS n, MAX(rest) AS rest FROM (SELECT * FROM by_score) AS virtual_table GROUP BY drug LIMIT 1001;

-- ----
-- release 0
-- groups: selected
--   k0: score (bigint)
--   k1: drug (text)
-- selection: weight w in 1/1048576, at most 100 groups
-- one unit moves: l1 None, l2 1677721600
--   s0: COUNT(*) (steps of 1/16777216, at most 1677721600)
-- a0: COUNT(*) (bigint) = 1/16777216 · s0, rounded, at least 0
-- note: each person counts with at most 100 rows (max_rows of prescription)
WITH partial AS (
  SELECT
    u,
    k0,
    k1,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      t1."score" AS k0,
      t1."drug" AS k1
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ) AS r
  GROUP BY
    u,
    k0,
    k1
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    k1,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s0) > 100 THEN (
      99.99999999990905e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 100 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    clamped.k1,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 100) * 16777216
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 100
        THEN 0
        ELSE CAST(TRUNC(1048575.9999990463e0 / SQRT(CAST(scale.t AS DOUBLE))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0,
    clamped.k1
)
SELECT
  released.k0,
  released.k1,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0,
  released.k1;

-- release 1
-- groups: one group
-- one unit moves: l1 100, l2 100
--   s0: COUNT(*) (steps of 1, at most 100)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 100 rows (max_rows of prescription)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1_0."patient_id" AS u
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 100 THEN 100 ELSE s0 END AS BIGINT) AS s0
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
-- note: the groups that are not shown are added up in one row, where drug is '(other)' and GROUPING(score) is 1
-- note: totals, averages, ranks and neighbours of groups are those of the groups that are shown
SELECT
  virtual_table.drug AS "drug",
  CAST(SUM(virtual_table.n) AS DECIMAL(38, 0)) AS n,
  MAX(virtual_table.rest) AS rest
FROM (
  SELECT
    dpsql_release_0.k0 AS "score",
    dpsql_release_0.g0 AS "rest",
    dpsql_release_0.k1 AS "drug",
    dpsql_release_0.a0 AS "n"
  FROM dpsql_release_0
) AS virtual_table
GROUP BY
  virtual_table.drug
LIMIT 1001;
