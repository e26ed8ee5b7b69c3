-- clipped in l1; of visits, by groups, with a FILTER, through the origin
SELECT reason, (LINREGR(cost, ARRAY[cost * cost]) FILTER (WHERE cost > 10)).std_err FROM visit GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 343597383680, l2 343597383680
--   s0: Σ 1 (steps of 1/2147483648, at most 343597383680)
--   s1: Σ u of cost * cost (steps of 1/2147482500, at most 343597383680)
--   s2: Σ u of cost (steps of 1/2147483426, at most 343597383680)
--   s3: Σ (1 - u²) of cost * cost (steps of 1/1068750000, at most 343597383680)
--   s4: Σ (1 - u²) of cost (steps of 1/1073692312, at most 343597383680)
--   s5: Σ u of cost * cost · u of cost (steps of 1/2146947500, at most 343597383680)
-- one unit moves: l1 1342177280, l2 1342177280
--   s6: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: (LINREGR(cost, ARRAY[cost * cost]) FILTER(WHERE cost > 10)).std_err[1] (double) = std_err over [0, 25000000], [10, 5000], of s0, s1, s2, s3, s4, s5
-- a1: COUNT(*) (bigint) = 1/33554432 · s6, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: cost * cost is clipped into [0, 25000000]
-- note: cost is clipped into [10, 5000]
-- note: std_err is the standard error of the people in the data as a sample, as MADlib's; what noise adds is not in it but in the intervals: SET dpsql.intervals = on
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
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 2147483648
    ) AS s0,
    (
      COALESCE(SUM(d0) FILTER(WHERE
        f2), 0) * 858993
    ) AS s1,
    (
      COALESCE(SUM(d1) FILTER(WHERE
        f2), 0) * 4303574
    ) AS s2,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 1068750000 + COALESCE(SUM(d2) FILTER(WHERE
        f2), 0) * (
        -171
      )
    ) AS s3,
    (
      CAST(COUNT(*) FILTER(WHERE
        f2) AS INT128) * 1073692312 + COALESCE(SUM(d3) FILTER(WHERE
        f2), 0) * (
        -4312
      )
    ) AS s4,
    (
      COALESCE(SUM(d4) FILTER(WHERE
        f2), 0) * 1721
    ) AS s5,
    (
      COUNT(*)
    ) AS s6,
    COUNT(*) FILTER(WHERE
      f2) AS n0
  FROM (
    SELECT
      u,
      k0,
      v0,
      v1,
      f2,
      (
        2 * v0 - 2500
      ) AS d0,
      (
        2 * v1 - 501
      ) AS d1,
      (
        2 * v0 - 2500
      ) * (
        2 * v0 - 2500
      ) AS d2,
      (
        2 * v1 - 501
      ) * (
        2 * v1 - 501
      ) AS d3,
      (
        2 * v0 - 2500
      ) * (
        2 * v1 - 501
      ) AS d4
    FROM (
      SELECT
        t1."patient_id" AS u,
        t1."reason" AS k0,
        CASE
          WHEN (
            t1."cost" * t1."cost"
          ) < 0
          THEN 0
          WHEN (
            t1."cost" * t1."cost"
          ) > 25000000
          THEN 2500
          ELSE CAST(CAST((
            t1."cost" * t1."cost"
          ) AS DOUBLE) * 0.0001e0 AS BIGINT)
        END AS v0,
        CASE
          WHEN t1."cost" < 10
          THEN 1
          WHEN t1."cost" > 5000
          THEN 500
          ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
        END AS v1,
        (
          t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT (
            t1."cost" * t1."cost"
          ) IS NULL
        )
        AND NOT t1."cost" IS NULL AS f2
      FROM "main"."visit" AS t1
    ) AS x
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
    CAST(CASE
      WHEN s0 > 351843720888320
      THEN 351843720888320
      WHEN s0 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s0
    END AS BIGINT) AS s0,
    CAST(CASE
      WHEN s1 > 351843720888320
      THEN 351843720888320
      WHEN s1 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s1
    END AS BIGINT) AS s1,
    CAST(CASE
      WHEN s2 > 351843720888320
      THEN 351843720888320
      WHEN s2 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s2
    END AS BIGINT) AS s2,
    CAST(CASE
      WHEN s3 > 351843720888320
      THEN 351843720888320
      WHEN s3 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s3
    END AS BIGINT) AS s3,
    CAST(CASE
      WHEN s4 > 351843720888320
      THEN 351843720888320
      WHEN s4 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s4
    END AS BIGINT) AS s4,
    CAST(CASE
      WHEN s5 > 351843720888320
      THEN 351843720888320
      WHEN s5 < (
        -351843720888320
      )
      THEN (
        -351843720888320
      )
      ELSE s5
    END AS BIGINT) AS s5,
    s6,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.s6) > 40 THEN (
      39.99999999996362e0 / CAST(SUM(clamped.s6) AS DOUBLE)
    ) ELSE NULL END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s6) > 40
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2,
    SUM(s3) AS s3,
    SUM(s4) AS s4,
    SUM(s5) AS s5,
    SUM(s6) AS s6
  FROM (
    SELECT
      k0,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 2147483648
      ) AS s0,
      (
        COALESCE(SUM(d0) FILTER(WHERE
          f2), 0) * 858993
      ) AS s1,
      (
        COALESCE(SUM(d1) FILTER(WHERE
          f2), 0) * 4303574
      ) AS s2,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 1068750000 + COALESCE(SUM(d2) FILTER(WHERE
          f2), 0) * (
          -171
        )
      ) AS s3,
      (
        CAST(COUNT(*) FILTER(WHERE
          f2) AS INT128) * 1073692312 + COALESCE(SUM(d3) FILTER(WHERE
          f2), 0) * (
          -4312
        )
      ) AS s4,
      (
        COALESCE(SUM(d4) FILTER(WHERE
          f2), 0) * 1721
      ) AS s5,
      CAST((
        COUNT(*)
      ) AS INT128) * 33554432 AS s6
    FROM (
      SELECT
        u,
        k0,
        v0,
        v1,
        f2,
        (
          2 * v0 - 2500
        ) AS d0,
        (
          2 * v1 - 501
        ) AS d1,
        (
          2 * v0 - 2500
        ) * (
          2 * v0 - 2500
        ) AS d2,
        (
          2 * v1 - 501
        ) * (
          2 * v1 - 501
        ) AS d3,
        (
          2 * v0 - 2500
        ) * (
          2 * v1 - 501
        ) AS d4
      FROM (
        SELECT
          t1."patient_id" AS u,
          t1."reason" AS k0,
          CASE
            WHEN (
              t1."cost" * t1."cost"
            ) < 0
            THEN 0
            WHEN (
              t1."cost" * t1."cost"
            ) > 25000000
            THEN 2500
            ELSE CAST(CAST((
              t1."cost" * t1."cost"
            ) AS DOUBLE) * 0.0001e0 AS BIGINT)
          END AS v0,
          CASE
            WHEN t1."cost" < 10
            THEN 1
            WHEN t1."cost" > 5000
            THEN 500
            ELSE CAST(CAST(t1."cost" AS DOUBLE) * 0.1e0 AS BIGINT)
          END AS v1,
          (
            t1."cost" > CAST(10 AS DECIMAL(8, 2)) AND NOT (
              t1."cost" * t1."cost"
            ) IS NULL
          )
          AND NOT t1."cost" IS NULL AS f2
        FROM "main"."visit" AS t1
      ) AS x
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
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s0
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s1
        END
      ) AS s1,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s2
        END
      ) AS s2,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s3 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s3
        END
      ) AS s3,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s4 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s4
        END
      ) AS s4,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s5 AS DOUBLE) * scale.rows_factor) AS BIGINT)
          ELSE clamped.s5
        END
      ) AS s5,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s6 AS DOUBLE) * scale.rows_factor * 33554432e0) AS BIGINT)
          ELSE LEAST(clamped.s6, 40) * 33554432
        END
      ) AS s6
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
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(released.s3, 0) AS s3,
  COALESCE(released.s4, 0) AS s4,
  COALESCE(released.s5, 0) AS s5,
  COALESCE(released.s6, 0) AS s6
FROM keys
LEFT JOIN released
  ON keys.k0 IS NOT DISTINCT FROM released.k0
ORDER BY
  keys.k0;

-- outer
SELECT
  dpsql_release_0.k0 AS "reason",
  [dpsql_release_0.a0] AS "std_err"
FROM dpsql_release_0
WHERE
  dpsql_release_0.dpsql_shown_0;
