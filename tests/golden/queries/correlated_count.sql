SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 3;

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
      t3."id" AS u
    FROM "main"."patient" AS t3
    LEFT JOIN (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          COUNT(*) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t4
      ON t3."id" = t4.c0
    WHERE
      COALESCE(t4.c1, CAST(0 AS BIGINT)) > CAST(3 AS BIGINT)
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
