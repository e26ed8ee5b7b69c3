-- A sample and the referral of its number may be of two patients: each is a unit of its own, and one patient moves as
-- many of them as the samples that count of a patient, and twice the referrals, where a LEFT JOIN keeps the sample.
SELECT v.reason, COUNT(*), AVG(s.result) FILTER (WHERE r.id IS NULL) FROM sample s LEFT JOIN referral r ON r.id = s.id
JOIN visit v ON v.id = s.visit_id GROUP BY v.reason

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 393216000, l2 393216000
--   s0: Σ(result - 0) (steps of 1/16384, at most 393216000)
--   s1: Σ(100 - result) (steps of 1/16384, at most 393216000)
-- one unit moves: l1 240, l2 240
--   s2: COUNT(*) (steps of 1, at most 240)
-- a0: COUNT(*) (bigint) = s2, rounded, at least 0
-- a1: AVG(result) FILTER(WHERE id IS NULL) (double) = 0 + 100 · s0 / (s0 + s1)
-- note: rows may be of two people: one person counts with at most 200 rows of sample and 20 rows of referral
-- note: result is clipped into [0, 100]
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0) FILTER(WHERE
        f1), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0) FILTER(WHERE
        f1), 0) + CAST(COUNT(v0) FILTER(WHERE
        f1) AS INT128) * 1638400
    ) AS s1,
    (
      COUNT(*)
    ) AS s2
  FROM (
    SELECT
      t1."id" AS u,
      t3."reason" AS k0,
      CASE
        WHEN CASE WHEN t1."result" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."result" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."result" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."result" END > 100e0
        THEN 1638400
        ELSE CAST(CASE WHEN t1."result" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."result" END * 16384e0 AS BIGINT)
      END AS v0,
      t2."id" IS NULL AS f1,
      t2."id" IS NULL
      AND NOT CASE WHEN t1."result" BETWEEN (
        -1.7976931348623157e308
      ) AND 1.7976931348623157e308 THEN t1."result" END IS NULL AS f2
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
    LEFT JOIN (
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
      ON t2."id" = t1."id"
    JOIN "main"."visit" AS t3
      ON t1."visit_id" = t3."id"
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t3_4.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('check-up' AS TEXT)),
      (CAST('acute' AS TEXT)),
      (CAST('chronic' AS TEXT))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t3_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "avg"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
