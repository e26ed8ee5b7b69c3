SELECT COUNT(*) FROM (SELECT reason FROM visit WHERE cost > 10 UNION SELECT reason FROM visit WHERE cost < 5) AS t;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: c0 (text)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/16777216, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/16777216 · s0, rounded, at least 0
-- note: each person counts with at most 80 rows
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
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
          t1."reason" AS c0,
          t1."patient_id" AS u
        FROM "main"."visit" AS t1
        WHERE
          t1."cost" > CAST(10 AS DECIMAL(8, 2))
        UNION ALL
        SELECT
          t2."reason" AS c0,
          t2."patient_id" AS u
        FROM "main"."visit" AS t2
        WHERE
          t2."cost" < CAST(5 AS DECIMAL(8, 2))
      ) AS t3
    ) AS t4
  ) AS r
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
      WHEN SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 6400
      THEN (
        79.99999999992724e0 / SQRT(CAST(SUM(CAST(clamped.s0 AS INT128) * clamped.s0) AS DOUBLE))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS INT128) * clamped.s0) > 6400
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 80) * 16777216
      END
    ) AS s0
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), keys AS (
  SELECT DISTINCT
    CAST(e0.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      ('check-up'),
      ('acute'),
      ('chronic')) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS e0
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
  COALESCE(MAX(dpsql_groups), 0) AS "count"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_counted_0;
