SELECT COUNT(*) FROM (SELECT id FROM patient UNION SELECT patient_id FROM visit) AS t;

-- ----
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
      t6.u AS u
    FROM (
      SELECT
        t5.k0 AS c0,
        t5.u AS u
      FROM (
        SELECT
          t4.u AS u,
          t4.c0 AS k0
        FROM (
          SELECT
            t3.c0 AS c0,
            t3.u AS u
          FROM (
            SELECT
              t1."id" AS c0,
              t1."id" AS u
            FROM "main"."patient" AS t1
            UNION ALL
            SELECT
              t2."patient_id" AS c0,
              t2."patient_id" AS u
            FROM "main"."visit" AS t2
          ) AS t3
        ) AS t4
        GROUP BY
          t4.u,
          t4.c0
      ) AS t5
    ) AS t6
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
