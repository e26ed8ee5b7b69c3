-- clipped in l1
SELECT reason, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY day) FROM visit GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 1342177280, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY day) (date) = picked, number 0 of q0
-- a1: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
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
    CASE WHEN SUM(clamped.s0) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0) > 40
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

-- q0: PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY day): quantiles 1/2 of 737425 … 739616
-- one unit weighs: l1 163840, l2 163840; a row 4096
-- near is less than 335544320; steps of 1
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t1."patient_id" AS u,
      t1."reason" AS k0,
      CAST(CASE
        WHEN (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        ) < 737425
        THEN 737425
        WHEN (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        ) > 739616
        THEN 739616
        ELSE (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        )
      END AS BIGINT) AS v
    FROM "main"."visit" AS t1
  ) AS r
  WHERE
    NOT v IS NULL
), scale AS (
  SELECT
    u,
    CAST(TRUNC(163839.999999851e0 / CAST(COUNT(*) AS DOUBLE)) AS BIGINT) AS m
  FROM (
    SELECT
      *
    FROM kept
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 737425
    ) // 2 AS b,
    COALESCE(scale.m, 4096) AS w
  FROM (
    SELECT
      *
    FROM kept
  ) AS p
  LEFT JOIN scale
    ON p.u = scale.u
), coarse AS (
  SELECT
    k0,
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    k0,
    b
), spread AS (
  SELECT
    k0,
    b,
    w,
    (
      SUM(w) OVER (PARTITION BY k0 ORDER BY b) - w
    ) AS below,
    SUM(w) OVER (PARTITION BY k0) AS n
  FROM coarse
), near AS (
  SELECT
    k0,
    b,
    below,
    n
  FROM spread
  WHERE
    (
      CAST(below AS INT128) * 2 - CAST(n AS INT128) * 1 < 671088640
      AND CAST(n AS INT128) * 1 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 2 < 671088640
    )
), found AS (
  SELECT
    g.k0,
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.k0,
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b AND h.k0 IS NOT DISTINCT FROM near.k0
    GROUP BY
      near.k0,
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b AND g.k0 IS NOT DISTINCT FROM near.k0
)
SELECT
  k0,
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  dpsql_release_0.a0 AS "percentile_disc"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
