-- The first visit of each person: one row per person, whatever max_rows is.
SELECT reason, COUNT(*) FROM (
    SELECT patient_id, reason, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day, id) AS n FROM visit
) AS t WHERE n = 1 GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3.u AS u,
      t3.c0 AS k0
    FROM (
      SELECT
        t2.c0 AS c0,
        t2.c4 AS c1,
        t2.u AS u
      FROM (
        SELECT
          t1."reason" AS c0,
          t1."patient_id" AS c1,
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c2,
          t1."id" AS c3,
          ROW_NUMBER() OVER (
            PARTITION BY t1."patient_id"
            ORDER BY CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END ASC, t1."id" ASC
          ) AS c4,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
      ) AS t2
    ) AS t3
    WHERE
      t3.c1 = CAST(1 AS BIGINT)
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t3_t2_t1_4.x AS TEXT) AS k0
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
  ) AS d_t3_t2_t1_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
