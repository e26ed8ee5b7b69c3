WITH spent AS (SELECT patient_id, SUM(cost) AS total FROM visit GROUP BY patient_id) SELECT COUNT(*) FROM spent WHERE total > (SELECT AVG(total) FROM spent);

-- ----
-- asked first: WITH spent AS (SELECT visit.patient_id, SUM(visit.cost) AS total FROM visit GROUP BY visit.patient_id) SELECT AVG(spent.total) FROM spent
-- release 0
-- groups: one group
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ(total - 0) (steps of 1/100, at most 20000000)
--   s1: Σ(200000 - total) (steps of 1/100, at most 20000000)
-- a0: AVG(total) (double) = 0 + 200000 · s0 / (s0 + s1)
-- note: total is clipped into [0, 200000]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 20000000
    ) AS s1
  FROM (
    SELECT
      t3.u AS u,
      CASE
        WHEN t3.c1 < 0
        THEN 0
        WHEN t3.c1 > 200000
        THEN 20000000
        ELSE CAST(CAST(t3.c1 AS DECIMAL(8, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0,
      NOT t3.c1 IS NULL AS f1
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          TRY_CAST(SUM(t1."cost") AS DECIMAL(38, 2)) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
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

-- and then
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
      t3.u AS u
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          TRY_CAST(SUM(t1."cost") AS DECIMAL(38, 2)) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t3
    WHERE
      CAST(t3.c1 AS DOUBLE) > (
        (
          SELECT
            MIN(one.c0)
          FROM (
            SELECT
              t5.c0 AS c0
            FROM (
              SELECT
                CAST(v.c0 AS DOUBLE) AS c0
              FROM (VALUES
                (NULL)) AS v(c0)
            ) AS t5
          ) AS one
          HAVING
            COUNT(*) <= 1
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
