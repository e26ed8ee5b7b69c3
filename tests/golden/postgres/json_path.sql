WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS DECIMAL) * 24
    ) AS s1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t1."patient_id" AS u,
      (
        (
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
          END -> 'sleep'
        ) ->> 'quality'
      ) AS k0,
      CASE
        WHEN LEAST(
          GREATEST(
            CASE
              WHEN CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) > (
                -2147483648.5
              )
              AND CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) < 2147483647.5
              THEN CAST(CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) AS INT)
            END,
            0
          ),
          24
        ) < 0
        THEN 0
        WHEN LEAST(
          GREATEST(
            CASE
              WHEN CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) > (
                -2147483648.5
              )
              AND CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) < 2147483647.5
              THEN CAST(CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) AS INT)
            END,
            0
          ),
          24
        ) > 24
        THEN 24
        ELSE CAST(LEAST(
          GREATEST(
            CASE
              WHEN CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) > (
                -2147483648.5
              )
              AND CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) < 2147483647.5
              THEN CAST(CAST(SUBSTRING(CASE
                WHEN OCTET_LENGTH(
                  (
                    (
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
                      END -> 'sleep'
                    ) ->> 'hours'
                  )
                ) <= 50000000
                THEN (
                  (
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
                    END -> 'sleep'
                  ) ->> 'hours'
                )
              END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) AS INT)
            END,
            0
          ),
          24
        ) AS BIGINT)
      END AS v0
    FROM "public"."diary" AS t1
    WHERE
      CASE
        WHEN NOT CASE
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
        END IS NULL
        THEN COALESCE(
          (
            JSON_TYPEOF(
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
              END
            ) = 'object'
            AND JSON_TYPEOF(
              (
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
                END -> 'smoker'
              )
            ) = 'boolean'
            AND (
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
              END ->> 'smoker'
            ) = 'true'
          ),
          FALSE
        )
      END
      AND CASE
        WHEN JSON_TYPEOF(
          (
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
            END -> 'drugs'
          )
        ) = 'array'
        THEN JSON_ARRAY_LENGTH(
          (
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
            END -> 'drugs'
          )
        )
      END > 1
    OFFSET 0
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 98304 THEN 98304 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 98304 THEN 98304 ELSE s1 END AS BIGINT) AS s1,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE
      WHEN SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) > 16
      THEN (
        CAST(3.999999999996362e0 AS DOUBLE PRECISION) / SQRT(CAST(SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) AS DOUBLE PRECISION))
      )
      ELSE NULL
    END AS rows_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(CAST(clamped.n0 AS DECIMAL) * clamped.n0) > 16 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE PRECISION) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE clamped.s0 * 16777216
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE PRECISION) * scale.rows_factor * 16777216e0) AS BIGINT)
        ELSE clamped.s1 * 16777216
      END
    ) AS s1,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 4
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
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;
