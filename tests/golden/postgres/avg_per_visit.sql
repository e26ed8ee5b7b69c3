WITH suspect AS MATERIALIZED (
  SELECT
    u
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "public"."visit" AS t1
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
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS DECIMAL) * 500000
    ) AS s1,
    (
      COUNT(*)
    ) AS s2
  FROM (
    SELECT
      t1."patient_id" AS u,
      (
        t1."reason" COLLATE "C"
      ) AS k0,
      CASE
        WHEN t1."cost" <= 1000000
        THEN LEAST(GREATEST(CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT), 0), 500000)
      END AS v0
    FROM "public"."visit" AS t1
    OFFSET 0
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
    CAST(CASE WHEN s0 > 20000000 THEN 20000000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 20000000 THEN 20000000 ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 40 THEN 40 ELSE s2 END AS BIGINT) AS s2
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1) > 400000000000000
      THEN (
        CAST(19999999.99998181e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS m0,
    CASE
      WHEN SUM(clamped.s2 * clamped.s2) > 1600
      THEN (
        CAST(5119.999999995343e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(clamped.s2 * clamped.s2) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS m1
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.s0 * clamped.s0 + clamped.s1 * clamped.s1) > 400000000000000 OR SUM(clamped.s2 * clamped.s2) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2
  FROM (
    SELECT
      k0,
      (
        COALESCE(SUM(v0), 0)
      ) AS s0,
      (
        -COALESCE(SUM(v0), 0) + CAST(COUNT(v0) AS DECIMAL) * 500000
      ) AS s1,
      (
        COUNT(*)
      ) * 128 AS s2
    FROM (
      SELECT
        t1."patient_id" AS u,
        (
          t1."reason" COLLATE "C"
        ) AS k0,
        CASE
          WHEN t1."cost" <= 1000000
          THEN LEAST(GREATEST(CAST(t1."cost" * CAST(100 AS DECIMAL(3, 0)) AS BIGINT), 0), 500000)
        END AS v0
      FROM "public"."visit" AS t1
      OFFSET 0
    ) AS r
    WHERE
      NOT EXISTS(
        SELECT
          1
        FROM suspect
        WHERE
          suspect.u = r.u
      )
    GROUP BY
      k0
    UNION ALL
    SELECT
      clamped.k0,
      SUM(
        CASE
          WHEN NOT scale.m0 IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.m0) AS BIGINT)
          ELSE clamped.s0
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.m0 IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE PRECISION) * scale.m0) AS BIGINT)
          ELSE clamped.s1
        END
      ) AS s1,
      SUM(
        CASE
          WHEN NOT scale.m1 IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE PRECISION) * scale.m1) AS BIGINT)
          ELSE clamped.s2 * 128
        END
      ) AS s2
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
    (
      CAST(d_t1_4.x AS TEXT) COLLATE "C"
    ) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      ((
          CAST('check-up' AS TEXT) COLLATE "C"
      )),
      ((
          CAST('acute' AS TEXT) COLLATE "C"
      )),
      ((
          CAST('chronic' AS TEXT) COLLATE "C"
      ))) AS v(x)
    UNION ALL
    SELECT
      NULL AS x
  ) AS d_t1_4
)
SELECT
  keys.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2
FROM keys
LEFT JOIN released
  ON ARRAY[keys.k0] = ARRAY[released.k0]
ORDER BY
  keys.k0;
