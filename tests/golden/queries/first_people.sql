-- The 100 people who cost most: compared with the value at that rank, which is released first.
SELECT COUNT(*), SUM(s) FROM (
    SELECT patient_id, SUM(cost) AS s FROM visit WHERE cost IS NOT NULL GROUP BY patient_id ORDER BY s DESC LIMIT 100
) AS t;

-- ----
-- asked first: SELECT PERCENTILE_DISC(row 100) WITHIN GROUP (ORDER BY grouped."s" DESC) AS "e0" FROM (SELECT visit.patient_id AS "patient_id", SUM(visit.cost) AS "s" FROM visit WHERE visit.cost IS NOT NULL GROUP BY visit.patient_id) AS grouped
-- release 0
-- groups: one group
-- a0: row 100 of ORDER BY s DESC (decimal(38,2)) = picked, number 0 of q0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- q0: row 100 of ORDER BY s DESC: quantiles -199/2 of 0 … 20000000
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1/100
WITH weighed AS MATERIALIZED (
  SELECT
    p.v,
    (
      p.v - 0
    ) // 9766 AS b,
    1 AS w
  FROM (
    SELECT
      *
    FROM (
      SELECT
        t3.u AS u,
        CASE
          WHEN t3.c1 < 0
          THEN 0
          WHEN t3.c1 > 200000
          THEN 20000000
          ELSE CAST(CAST(t3.c1 AS DECIMAL(8, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
        END AS v
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
          WHERE
            NOT (
              t1."cost" IS NULL
            )
          GROUP BY
            t1."patient_id"
        ) AS t2
      ) AS t3
    ) AS r
    WHERE
      NOT v IS NULL
  ) AS p
), coarse AS (
  SELECT
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    b
), spread AS (
  SELECT
    b,
    w,
    (
      SUM(w) OVER (ORDER BY b) - w
    ) AS below,
    SUM(w) OVER () AS n
  FROM coarse
), near AS (
  SELECT
    b,
    below,
    n
  FROM spread
  WHERE
    (
      CAST(below AS INT128) * 2 - CASE WHEN CAST(n AS INT128) * 2 < 199 THEN 0 ELSE CAST(n AS INT128) * 2 - 199 END < 4096
      AND CASE WHEN CAST(n AS INT128) * 2 < 199 THEN 0 ELSE CAST(n AS INT128) * 2 - 199 END - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 2 < 4096
    )
), found AS (
  SELECT
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b
    GROUP BY
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b
)
SELECT
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- outer
SELECT
  dpsql_release_0.a0 AS "e0"
FROM dpsql_release_0;

-- and then
-- release 0
-- groups: one group
-- one unit moves: l1 20000000, l2 20000000
--   s0: Σ(s - 0) (steps of 1/100, at most 20000000)
--   s1: Σ(200000 - s) (steps of 1/100, at most 20000000)
-- a0: COUNT(*) (bigint) = 1/20000000 · s0 + 1/20000000 · s1, rounded, at least 0
-- a1: SUM(s) (decimal(38,2)) = 1/100 · s0
-- note: s is clipped into [0, 200000]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 20000000
    ) AS s1
  FROM (
    SELECT
      t6.u AS u,
      CASE
        WHEN t6.c1 < 0
        THEN 0
        WHEN t6.c1 > 200000
        THEN 20000000
        ELSE CAST(CAST(t6.c1 AS DECIMAL(8, 2)) * CAST(100 AS DECIMAL(3, 0)) AS BIGINT)
      END AS v0
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
        WHERE
          NOT (
            t1."cost" IS NULL
          )
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t6
    CROSS JOIN (
      SELECT
        t7.c0 AS c0
      FROM (
        SELECT
          CAST(v.c0 AS DECIMAL(38, 2)) AS c0
        FROM (VALUES
          (NULL)) AS v(c0)
      ) AS t7
    ) AS t8
    WHERE
      CASE WHEN t6.c1 < t8.c0 THEN 101 ELSE 100 END <= 100
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "sum"
FROM dpsql_release_0;
