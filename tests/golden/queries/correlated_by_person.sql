-- A value that is looked up among a person's own rows is a join with these.
SELECT COUNT(*) FROM visit AS v WHERE v.cost > (SELECT AVG(w.cost) FROM visit AS w WHERE w.patient_id = v.patient_id);

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u
    FROM "main"."visit" AS t3
    JOIN (
      SELECT
        t2.k0 AS c0,
        t2.a0 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."patient_id" AS k0,
          (
            ROUND(CAST(SUM(t1."cost") AS DOUBLE) * 100e0) / (
              CAST(COUNT(t1."cost") AS DOUBLE) * 100e0
            )
          ) AS a0
        FROM "main"."visit" AS t1
        GROUP BY
          t1."patient_id"
      ) AS t2
    ) AS t4
      ON t3."patient_id" = t4.c0
    WHERE
      CAST(t3."cost" AS DOUBLE) > t4.c1
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
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
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
