-- Groups that nobody declared are named when more rows are in them than one patient can have moved.
-- clipped in l1
SELECT s.batch_id, COUNT(*) FROM sample s JOIN referral r ON r.id = s.id GROUP BY s.batch_id

-- ----
-- release 0
-- groups: selected
--   k0: batch_id (integer)
-- selection: weight s0 in 1/1, at most 1 groups
-- one unit moves: l1 220, l2 220
--   s0: COUNT(*) (steps of 1, at most 220)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows may be of two people: one person counts with at most 200 rows of sample and 20 rows of referral
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u,
      t1."batch_id" AS k0
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
          ROW_NUMBER() OVER (PARTITION BY t1_0."patient_id" ORDER BY t1."id") AS dpsql_place
        FROM "main"."sample" AS t1
        JOIN "main"."visit" AS t1_0
          ON t1."visit_id" = t1_0."id"
      ) AS t1
      WHERE
        t1.dpsql_place <= 200
    ) AS t1
    JOIN (
      SELECT
        t2."id",
        t2."patient_id",
        t2."visit_id",
        t2."day"
      FROM (
        SELECT
          t2."id",
          t2."patient_id",
          t2."visit_id",
          t2."day",
          ROW_NUMBER() OVER (PARTITION BY t2."patient_id" ORDER BY t2."id") AS dpsql_place
        FROM "main"."referral" AS t2
      ) AS t2
      WHERE
        t2.dpsql_place <= 20
    ) AS t2
      ON t1."id" = t2."id"
  ) AS r
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0
FROM released
ORDER BY
  released.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "batch_id",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
