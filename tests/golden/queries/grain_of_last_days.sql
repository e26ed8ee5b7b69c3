-- What the clock says is moved outward to the grain: the same statement for a week.
-- asked at 2025-06-18 10:30
SELECT reason, COUNT(*) FROM visit WHERE day BETWEEN CURRENT_DATE - 30 AND 'today' AND day <> 'yesterday' GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END BETWEEN CAST('2025-05-19' AS DATE) AND CAST('2025-06-23' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END <> CAST('2025-06-17' AS DATE)
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u,
      t1."reason" AS k0
    FROM "main"."visit" AS t1
    WHERE
      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END BETWEEN CAST('2025-05-19' AS DATE) AND CAST('2025-06-23' AS DATE)
      AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END <> CAST('2025-06-17' AS DATE)
  ) AS r
  WHERE
    u IN (
      SELECT
        u
      FROM suspect
    )
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    s0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 1600
      THEN (
        39.99999999996362e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0
  FROM (
    SELECT
      k0,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s0
    FROM (
      SELECT
        t1."patient_id" AS u,
        t1."reason" AS k0
      FROM "main"."visit" AS t1
      WHERE
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END BETWEEN CAST('2025-05-19' AS DATE) AND CAST('2025-06-23' AS DATE)
        AND CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END <> CAST('2025-06-17' AS DATE)
    ) AS r
    WHERE
      NOT u IN (
        SELECT
          u
        FROM suspect
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 33554432e0) AS BIGINT)
          ELSE LEAST(clamped.s0, 40) * 33554432
        END
      ) AS s0
    FROM clamped
    LEFT JOIN scale
      ON clamped.u = scale.u
    GROUP BY
      clamped.k0
  ) AS b
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t1_4.x AS TEXT) AS k0
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
  ) AS d_t1_4
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
-- note: 2025-06-18 00:00:00 is read as 2025-06-23 00:00:00: the policy declares so coarse a grain
-- note: the time of this statement is 2025-06-18 10:30:00+00:00
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
