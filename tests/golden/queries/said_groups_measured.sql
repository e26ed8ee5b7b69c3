SELECT SUM(m) FROM (SELECT batch_id, MAX(patient_id) AS p, MAX(result) AS m FROM sample GROUP BY batch_id) AS t;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 655360000, l2 655360000
--   s0: Σ m (steps of 1/16384, at most 655360000)
-- a0: SUM(m) (double) = 1/16384 · s0
-- note: groups may be of several people: one person counts with at most 200 rows of sample
-- note: m is clipped into [0, 100]
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t3.u AS u,
      CASE WHEN t3.c2 < 0e0 THEN 0 WHEN t3.c2 > 100e0 THEN 1638400 ELSE CAST(t3.c2 * 16384e0 AS BIGINT) END AS v0
    FROM (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.a1 AS c2,
        t2.k0 AS u
      FROM (
        SELECT
          t1."batch_id" AS k0,
          MAX(t1."patient_id") AS a0,
          MAX(CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END) AS a1
        FROM (
          SELECT
            t1."id",
            t1."visit_id",
            t1."patient_id",
            t1."batch_id",
            t1."result"
          FROM (
            SELECT
              t1."id",
              t1."visit_id",
              t1."patient_id",
              t1."batch_id",
              t1."result",
              ROW_NUMBER() OVER (PARTITION BY t1."patient_id" ORDER BY t1."id") AS dpsql_place
            FROM (
              SELECT
                t1."id",
                t1."visit_id",
                t1."patient_id",
                t1."batch_id",
                t1."result"
              FROM "main"."sample" AS t1
              JOIN "main"."visit" AS t1_0
                ON t1."visit_id" = t1_0."id" AND t1_0."patient_id" = t1."patient_id"
            ) AS t1
            WHERE
              NOT t1."patient_id" IS NULL
          ) AS t1
          WHERE
            t1.dpsql_place <= 200
        ) AS t1
        WHERE
          NOT t1."patient_id" IS NULL
        GROUP BY
          t1."batch_id"
      ) AS t2
    ) AS t3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "sum"
FROM dpsql_release_0;
