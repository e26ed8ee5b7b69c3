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
      CAST(COUNT(*) AS DECIMAL) * 4500000 + CAST(COUNT(v0) AS DECIMAL) * 3500000
    ) AS s0,
    (
      COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS DECIMAL) * (
        -7500000
      )
    ) AS s1,
    (
      CAST(COUNT(*) AS DECIMAL) * 10000000 + CAST(COUNT(v0) AS DECIMAL) * (
        -10000000
      )
    ) AS s2,
    COUNT(*) AS n0
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
    CAST(CASE WHEN s0 > 449161464832 THEN 449161464832 WHEN s0 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 449161464832 THEN 449161464832 WHEN s1 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s1 END AS BIGINT) AS s1,
    CAST(CASE WHEN s2 > 449161464832 THEN 449161464832 WHEN s2 < (
      -449161464832
    ) THEN (
      -449161464832
    ) ELSE s2 END AS BIGINT) AS s2,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) > 1600
      THEN (
        CAST(39.99999999996362e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS rows_factor
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) > 1600
), released AS (
  SELECT
    k0,
    SUM(s0) AS s0,
    SUM(s1) AS s1,
    SUM(s2) AS s2
  FROM (
    SELECT
      k0,
      CAST((
        CAST(COUNT(*) AS DECIMAL) * 4500000 + CAST(COUNT(v0) AS DECIMAL) * 3500000
      ) AS DECIMAL) * 4 AS s0,
      CAST((
        COALESCE(SUM(v0), 0) * 30 + CAST(COUNT(v0) AS DECIMAL) * (
          -7500000
        )
      ) AS DECIMAL) * 4 AS s1,
      CAST((
        CAST(COUNT(*) AS DECIMAL) * 10000000 + CAST(COUNT(v0) AS DECIMAL) * (
          -10000000
        )
      ) AS DECIMAL) * 4 AS s2
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
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.rows_factor * 4e0) AS BIGINT)
          ELSE clamped.s0 * 4
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE PRECISION) * scale.rows_factor * 4e0) AS BIGINT)
          ELSE clamped.s1 * 4
        END
      ) AS s1,
      SUM(
        CASE
          WHEN NOT scale.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE PRECISION) * scale.rows_factor * 4e0) AS BIGINT)
          ELSE clamped.s2 * 4
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
