-- Sessions: a new one after thirty days without a visit.
WITH marked AS (
    SELECT patient_id, day,
        CASE WHEN day - LAG(day) OVER (PARTITION BY patient_id ORDER BY day) <= 30 THEN 0 ELSE 1 END AS is_new
    FROM visit
), numbered AS (
    SELECT patient_id, SUM(is_new) OVER (PARTITION BY patient_id ORDER BY day) AS session FROM marked
), sessions AS (SELECT patient_id, session, COUNT(*) AS visits FROM numbered GROUP BY patient_id, session)
SELECT AVG(visits), COUNT(*) FROM sessions;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 None, l2 1635778560
--   s0: Σ(visits - 1) (steps of 1/1048576, at most 1635778560)
--   s1: Σ(40 - visits) (steps of 1/1048576, at most 1635778560)
-- a0: AVG(visits) (double) = 1 + 39 · s0 / (s0 + s1)
-- a1: COUNT(*) (bigint) = 1/40894464 · s0 + 1/40894464 · s1, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: visits is clipped into [1, 40]
WITH partial AS (
  SELECT
    u,
    (
      COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * (
        -1
      )
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS INT128) * 40
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t7.u AS u,
      CASE WHEN t7.c2 < 1 THEN 1 WHEN t7.c2 > 40 THEN 40 ELSE CAST(t7.c2 AS BIGINT) END AS v0
    FROM (
      SELECT
        t6.k0 AS c0,
        t6.k1 AS c1,
        t6.a0 AS c2,
        t6.u AS u
      FROM (
        SELECT
          t5.u AS u,
          t5.c0 AS k0,
          t5.c1 AS k1,
          COUNT(*) AS a0
        FROM (
          SELECT
            t4.c0 AS c0,
            t4.c3 AS c1,
            t4.u AS u
          FROM (
            SELECT
              t3.c0 AS c0,
              t3.c2 AS c1,
              t3.c1 AS c2,
              TRY_CAST(SUM(t3.c2) OVER (PARTITION BY t3.u, t3.c0 ORDER BY t3.c1 ASC) AS BIGINT) AS c3,
              t3.u AS u
            FROM (
              SELECT
                t2.c0 AS c0,
                t2.c1 AS c1,
                CASE WHEN t2.c2 <= 30 THEN 0 ELSE 1 END AS c2,
                t2.u AS u
              FROM (
                SELECT
                  t1."patient_id" AS c0,
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - (
                    LAG(CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END, 1) OVER (
                      PARTITION BY t1."patient_id"
                      ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC, t1."id" ASC
                    )
                  ) AS c2,
                  t1."patient_id" AS u
                FROM "main"."visit" AS t1
              ) AS t2
            ) AS t3
          ) AS t4
        ) AS t5
        GROUP BY
          t5.u,
          t5.c0,
          t5.c1
      ) AS t6
    ) AS t7
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 1597440 THEN 1597440 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 1597440 THEN 1597440 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), released AS (
  SELECT
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s0 * 1048576
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT measured.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 1048576e0) AS BIGINT)
        ELSE measured.s1 * 1048576
      END
    ) AS s1
  FROM (
    SELECT
      *,
      CASE
        WHEN CAST(clamped.n0 AS INT128) * clamped.n0 > 1600
        THEN (
          39.99999999996362e0 / SQRT(CAST(CAST(clamped.n0 AS INT128) * clamped.n0 AS DOUBLE))
        )
        ELSE NULL
      END AS rows_factor
    FROM clamped
  ) AS measured
)
SELECT
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "avg",
  dpsql_release_0.a1 AS "count"
FROM dpsql_release_0;
