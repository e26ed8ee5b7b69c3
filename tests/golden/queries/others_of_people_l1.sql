-- One group of a person: people add up. GROUPING tells of a row that it adds up groups.
-- with others
-- clipped in l1
SELECT diagnosis, GROUPING(diagnosis) AS other, COUNT(DISTINCT patient.id) AS people, SUM(cost) AS cost
FROM patient JOIN visit ON patient_id = patient.id GROUP BY diagnosis;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- one unit moves: l1 1, l2 1
--   s1: COUNT(DISTINCT id) (steps of 1, at most 1)
-- a0: COUNT(DISTINCT id) (bigint) = s1, rounded, at least 0
-- a1: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COUNT(*)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" AS k0,
      CASE
        WHEN t2."cost" < 0
        THEN 0
        WHEN t2."cost" > 5000
        THEN 500000
        ELSE CAST(t2."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."patient" AS t1
    JOIN "main"."visit" AS t2
      ON t1."id" = t2."patient_id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0,
    CASE WHEN s1 > 0 THEN 1 ELSE 0 END AS s1
  FROM partial
), released AS (
  SELECT
    clamped.k0,
    SUM(clamped.s0) AS s0,
    SUM(clamped.s1) AS s1,
    SUM(1) AS w
  FROM clamped
  GROUP BY
    clamped.k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- release 1
-- groups: one group
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ cost (steps of 1/100, at most 20000000)
-- one unit moves: l1 1, l2 1
--   s1: COUNT(DISTINCT id) (steps of 1, at most 1)
-- a0: COUNT(DISTINCT id) (bigint) = s1, rounded, at least 0
-- a1: SUM(cost) (decimal(38,2)) = 1/100 · s0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost is clipped into [0, 5000]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      COUNT(*)
    ) AS s1
  FROM (
    SELECT
      t1."id" AS u,
      CASE
        WHEN t2."cost" < 0
        THEN 0
        WHEN t2."cost" > 5000
        THEN 500000
        ELSE CAST(t2."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
    FROM "main"."patient" AS t1
    JOIN "main"."visit" AS t2
      ON t1."id" = t2."patient_id"
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0,
    CASE WHEN s1 > 0 THEN 1 ELSE 0 END AS s1
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0,
    SUM(clamped.s1) AS s1
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
-- note: the groups that are not shown are added up in one row, where diagnosis is '(other)' and GROUPING(diagnosis) is 1
SELECT
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.g0 AS "other",
  dpsql_release_0.a0 AS "people",
  dpsql_release_0.a1 AS "cost"
FROM dpsql_release_0;
