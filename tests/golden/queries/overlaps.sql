-- Spans of time are compared by their ends.
SELECT COUNT(*) AS n FROM visit WHERE (day, day + 30) OVERLAPS (DATE '2022-01-01', DATE '2022-03-01')

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."patient_id" AS u
    FROM "main"."visit" AS t1
    WHERE
      CASE
        WHEN LEAST(
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
          CASE
            WHEN (
              CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
            ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
          END
        ) > LEAST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
        THEN CASE
          WHEN LEAST(
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
            CASE
              WHEN (
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
              ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
              THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
            END
          ) < CASE
            WHEN NOT (
              (
                CAST('2022-01-01' AS DATE) IS NULL
              ) OR (
                CAST('2022-03-01' AS DATE) IS NULL
              )
            )
            THEN GREATEST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
          END
          THEN TRUE
          WHEN (
            CASE
              WHEN NOT (
                (
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL
                )
                OR (
                  CASE
                    WHEN (
                      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                    ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                    THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  END IS NULL
                )
              )
              THEN GREATEST(
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
                CASE
                  WHEN (
                    CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                END
              )
            END IS NULL
          )
          OR (
            CASE
              WHEN NOT (
                (
                  CAST('2022-01-01' AS DATE) IS NULL
                ) OR (
                  CAST('2022-03-01' AS DATE) IS NULL
                )
              )
              THEN GREATEST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
            END IS NULL
          )
          THEN CAST(NULL AS BOOLEAN)
          ELSE FALSE
        END
        WHEN LEAST(
          CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
          CASE
            WHEN (
              CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
            ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
            THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
          END
        ) < LEAST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
        THEN CASE
          WHEN LEAST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE)) < CASE
            WHEN NOT (
              (
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL
              )
              OR (
                CASE
                  WHEN (
                    CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                END IS NULL
              )
            )
            THEN GREATEST(
              CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
              CASE
                WHEN (
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
              END
            )
          END
          THEN TRUE
          WHEN (
            CASE
              WHEN NOT (
                (
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL
                )
                OR (
                  CASE
                    WHEN (
                      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                    ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                    THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  END IS NULL
                )
              )
              THEN GREATEST(
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
                CASE
                  WHEN (
                    CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                  THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                END
              )
            END IS NULL
          )
          OR (
            CASE
              WHEN NOT (
                (
                  CAST('2022-01-01' AS DATE) IS NULL
                ) OR (
                  CAST('2022-03-01' AS DATE) IS NULL
                )
              )
              THEN GREATEST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
            END IS NULL
          )
          THEN CAST(NULL AS BOOLEAN)
          ELSE FALSE
        END
        WHEN (
          LEAST(
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
            CASE
              WHEN (
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
              ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
              THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
            END
          ) = LEAST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
        )
        AND (
          NOT (
            (
              CASE
                WHEN NOT (
                  (
                    CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END IS NULL
                  )
                  OR (
                    CASE
                      WHEN (
                        CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                      ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                      THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                    END IS NULL
                  )
                )
                THEN GREATEST(
                  CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END,
                  CASE
                    WHEN (
                      CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                    ) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                    THEN CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END + TRY_CAST(30 AS INT)
                  END
                )
              END IS NULL
            )
            OR (
              CASE
                WHEN NOT (
                  (
                    CAST('2022-01-01' AS DATE) IS NULL
                  ) OR (
                    CAST('2022-03-01' AS DATE) IS NULL
                  )
                )
                THEN GREATEST(CAST('2022-01-01' AS DATE), CAST('2022-03-01' AS DATE))
              END IS NULL
            )
          )
        )
        THEN TRUE
      END
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "n"
FROM dpsql_release_0;
