WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2.u AS u,
      t2.c5 AS k0
    FROM (
      SELECT
        t1."patient_id" AS c0,
        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END AS c1,
        CASE
          WHEN OCTET_LENGTH(CAST(t1."answers" AS TEXT)) <= 1000000
          THEN CASE
            WHEN (
              LENGTH(CAST(t1."answers" AS TEXT)) - LENGTH(TRANSLATE(CAST(t1."answers" AS TEXT), '[{', ''))
            ) <= 4000
            AND NOT (
              REGEXP_REPLACE(CAST(t1."answers" AS TEXT), '\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}', '', 'g') ~ '\\u(0000|[dD][89a-fA-F])'
            )
            THEN t1."answers"
          END
        END AS c2,
        (
          CAST(t1."symptoms" AS TEXT[]) COLLATE "C"
        ) AS c3,
        t1."codes" AS c4,
        UNNEST((
          CAST(t1."symptoms" AS TEXT[]) COLLATE "C"
        )) AS c5,
        t1."patient_id" AS u
      FROM "public"."diary" AS t1
    ) AS t2
    WHERE
      (
        7 = ANY(
          t2.c4
        )
      )
      AND NOT CASE WHEN NOT t2.c3 IS NULL THEN (
        COALESCE((
          'none' = ANY(
            t2.c3
          )
        ), FALSE)
      ) END
    OFFSET 0
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
      WHEN SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 144
      THEN (
        CAST(11.999999999989086e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.s0 AS DECIMAL) * clamped.s0) > 144 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.rows_factor * 134217728e0) AS BIGINT)
        ELSE LEAST(clamped.s0, 12) * 134217728
      END
    ) AS s0,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 12
        THEN 0
        ELSE CAST(TRUNC(CAST(1048575.9999990463e0 AS DOUBLE PRECISION) / SQRT(CAST(scale.t AS DOUBLE PRECISION))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;
