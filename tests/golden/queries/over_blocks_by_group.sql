-- One block has other answers in each of the groups, and those of people are counted beside it.
SELECT reason, COUNT(*) AS n, dpsql.over_blocks(CORR(cost, p.weight_kg), blocks => 40) AS r
FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t2."id" AS u,
      t1."reason" AS k0
    FROM "main"."visit" AS t1
    JOIN "main"."patient" AS t2
      ON t2."id" = t1."patient_id"
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

-- release 1
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 4194304, l2 2097152
--   s0: Σ dpsql.over_blocks(CORR(cost, weight_kg), blocks => 40) (steps of 1/524288, at most 1048576)
-- a0: dpsql.over_blocks(CORR(cost, weight_kg), blocks => 40) (double) = 1/524288 · s0
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t9.u AS u,
      t9.c0 AS k0,
      CASE
        WHEN t9.c14 < (
          -1e0
        )
        THEN (
          -524288
        )
        WHEN t9.c14 > 1e0
        THEN 524288
        ELSE CAST(t9.c14 * 524288e0 AS BIGINT)
      END AS v0
    FROM (
      SELECT
        t8.c0 AS c0,
        t8.c1 AS c1,
        t8.c2 AS c2,
        t8.c3 AS c3,
        t8.c4 AS c4,
        t8.c5 AS c5,
        t8.c6 AS c6,
        t8.c7 AS c7,
        t8.c8 AS c8,
        t8.c9 AS c9,
        t8.c10 AS c10,
        t8.c11 AS c11,
        t8.c12 AS c12,
        t8.c13 AS c13,
        CASE
          WHEN (
            t8.c6 / t8.c13
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN t8.c6 / t8.c13
        END AS c14,
        t8.u AS u
      FROM (
        SELECT
          t7.c0 AS c0,
          t7.c1 AS c1,
          t7.c2 AS c2,
          t7.c3 AS c3,
          t7.c4 AS c4,
          t7.c5 AS c5,
          t7.c6 AS c6,
          t7.c7 AS c7,
          t7.c8 AS c8,
          t7.c9 AS c9,
          t7.c10 AS c10,
          t7.c11 AS c11,
          t7.c12 AS c12,
          CASE
            WHEN (
              t7.c11 * t7.c12
            ) BETWEEN (
              -1.7976931348623157e308
            ) AND 1.7976931348623157e308
            THEN t7.c11 * t7.c12
          END AS c13,
          t7.u AS u
        FROM (
          SELECT
            t6.c0 AS c0,
            t6.c1 AS c1,
            t6.c2 AS c2,
            t6.c3 AS c3,
            t6.c4 AS c4,
            t6.c5 AS c5,
            t6.c6 AS c6,
            t6.c7 AS c7,
            t6.c8 AS c8,
            t6.c9 AS c9,
            t6.c10 AS c10,
            CASE WHEN SQRT(t6.c9) BETWEEN (
              -1.7976931348623157e308
            ) AND 1.7976931348623157e308 THEN SQRT(t6.c9) END AS c11,
            CASE WHEN SQRT(t6.c10) BETWEEN (
              -1.7976931348623157e308
            ) AND 1.7976931348623157e308 THEN SQRT(t6.c10) END AS c12,
            t6.u AS u
          FROM (
            SELECT
              t5.c0 AS c0,
              t5.c1 AS c1,
              t5.c2 AS c2,
              t5.c3 AS c3,
              t5.c4 AS c4,
              t5.c5 AS c5,
              t5.c6 AS c6,
              t5.c7 AS c7,
              t5.c8 AS c8,
              CASE
                WHEN ABS(t5.c4 - t5.c7) BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308
                THEN ABS(t5.c4 - t5.c7)
              END AS c9,
              CASE
                WHEN ABS(t5.c5 - t5.c8) BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308
                THEN ABS(t5.c5 - t5.c8)
              END AS c10,
              t5.u AS u
            FROM (
              SELECT
                t4.c0 AS c0,
                t4.c1 AS c1,
                t4.c2 AS c2,
                t4.c3 AS c3,
                t4.c4 AS c4,
                t4.c5 AS c5,
                CASE
                  WHEN (
                    t4.c1 - (
                      t4.c2 * t4.c3
                    )
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN t4.c1 - (
                    t4.c2 * t4.c3
                  )
                END AS c6,
                CASE
                  WHEN (
                    t4.c2 * t4.c2
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN t4.c2 * t4.c2
                END AS c7,
                CASE
                  WHEN (
                    t4.c3 * t4.c3
                  ) BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308
                  THEN t4.c3 * t4.c3
                END AS c8,
                t4.u AS u
              FROM (
                SELECT
                  t3.k0 AS c0,
                  t3.a0 AS c1,
                  t3.a1 AS c2,
                  t3.a2 AS c3,
                  t3.a3 AS c4,
                  t3.a4 AS c5,
                  t3.u AS u
                FROM (
                  SELECT
                    (
                      CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t2."id" AS TEXT)), 15)) AS BIGINT) % 40
                    ) AS u,
                    t1."reason" AS k0,
                    (
                      (
                        CAST(SUM(
                          CASE
                            WHEN CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END < (
                              -372500e0
                            )
                            THEN (
                              -745000
                            )
                            WHEN CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END > 372500e0
                            THEN 745000
                            ELSE CAST(CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END * 2e0 AS BIGINT)
                          END
                        ) FILTER(WHERE
                          (
                            NOT (
                              t1."cost" IS NULL
                            )
                          )
                          AND (
                            NOT (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                            )
                          )) AS DOUBLE) * 0.5e0
                      ) / CAST(COUNT(
                        CASE
                          WHEN (
                            (
                              CAST(t1."cost" AS DOUBLE) - 2500e0
                            ) * (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            )
                          ) BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308
                          THEN (
                            CAST(t1."cost" AS DOUBLE) - 2500e0
                          ) * (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                          )
                        END
                      ) FILTER(WHERE
                        (
                          NOT (
                            t1."cost" IS NULL
                          )
                        )
                        AND (
                          NOT (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                          )
                        )) AS DOUBLE)
                    ) AS a0,
                    (
                      (
                        CAST(SUM(
                          CASE
                            WHEN CASE
                              WHEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CAST(t1."cost" AS DOUBLE) - 2500e0
                            END < (
                              -2500e0
                            )
                            THEN (
                              -640000
                            )
                            WHEN CASE
                              WHEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CAST(t1."cost" AS DOUBLE) - 2500e0
                            END > 2500e0
                            THEN 640000
                            ELSE CAST(CASE
                              WHEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CAST(t1."cost" AS DOUBLE) - 2500e0
                            END * 256e0 AS BIGINT)
                          END
                        ) FILTER(WHERE
                          (
                            NOT (
                              t1."cost" IS NULL
                            )
                          )
                          AND (
                            NOT (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                            )
                          )) AS DOUBLE) * 0.00390625e0
                      ) / CAST(COUNT(
                        CASE
                          WHEN (
                            CAST(t1."cost" AS DOUBLE) - 2500e0
                          ) BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308
                          THEN CAST(t1."cost" AS DOUBLE) - 2500e0
                        END
                      ) FILTER(WHERE
                        (
                          NOT (
                            t1."cost" IS NULL
                          )
                        )
                        AND (
                          NOT (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                          )
                        )) AS DOUBLE)
                    ) AS a1,
                    (
                      (
                        CAST(SUM(
                          CASE
                            WHEN CASE
                              WHEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            END < (
                              -149e0
                            )
                            THEN (
                              -610304
                            )
                            WHEN CASE
                              WHEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            END > 149e0
                            THEN 610304
                            ELSE CAST(CASE
                              WHEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            END * 4096e0 AS BIGINT)
                          END
                        ) FILTER(WHERE
                          (
                            NOT (
                              t1."cost" IS NULL
                            )
                          )
                          AND (
                            NOT (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                            )
                          )) AS DOUBLE) * 0.000244140625e0
                      ) / CAST(COUNT(
                        CASE
                          WHEN (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                          ) BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308
                          THEN CASE WHEN t2."weight_kg" BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                        END
                      ) FILTER(WHERE
                        (
                          NOT (
                            t1."cost" IS NULL
                          )
                        )
                        AND (
                          NOT (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                          )
                        )) AS DOUBLE)
                    ) AS a2,
                    (
                      (
                        CAST(SUM(
                          CASE
                            WHEN CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              )
                            END < (
                              -6250000e0
                            )
                            THEN (
                              -781250
                            )
                            WHEN CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              )
                            END > 6250000e0
                            THEN 781250
                            ELSE CAST(CASE
                              WHEN (
                                (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                ) * (
                                  CAST(t1."cost" AS DOUBLE) - 2500e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              ) * (
                                CAST(t1."cost" AS DOUBLE) - 2500e0
                              )
                            END * 0.125e0 AS BIGINT)
                          END
                        ) FILTER(WHERE
                          (
                            NOT (
                              t1."cost" IS NULL
                            )
                          )
                          AND (
                            NOT (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                            )
                          )) AS DOUBLE) * 8e0
                      ) / CAST(COUNT(
                        CASE
                          WHEN (
                            (
                              CAST(t1."cost" AS DOUBLE) - 2500e0
                            ) * (
                              CAST(t1."cost" AS DOUBLE) - 2500e0
                            )
                          ) BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308
                          THEN (
                            CAST(t1."cost" AS DOUBLE) - 2500e0
                          ) * (
                            CAST(t1."cost" AS DOUBLE) - 2500e0
                          )
                        END
                      ) FILTER(WHERE
                        (
                          NOT (
                            t1."cost" IS NULL
                          )
                        )
                        AND (
                          NOT (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                          )
                        )) AS DOUBLE)
                    ) AS a3,
                    (
                      (
                        CAST(SUM(
                          CASE
                            WHEN CASE
                              WHEN (
                                (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END < (
                              -22201e0
                            )
                            THEN (
                              -710432
                            )
                            WHEN CASE
                              WHEN (
                                (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END > 22201e0
                            THEN 710432
                            ELSE CAST(CASE
                              WHEN (
                                (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                ) * (
                                  CASE WHEN t2."weight_kg" BETWEEN (
                                    -1.7976931348623157e308
                                  ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                                )
                              ) BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308
                              THEN (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              ) * (
                                CASE WHEN t2."weight_kg" BETWEEN (
                                  -1.7976931348623157e308
                                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                              )
                            END * 32e0 AS BIGINT)
                          END
                        ) FILTER(WHERE
                          (
                            NOT (
                              t1."cost" IS NULL
                            )
                          )
                          AND (
                            NOT (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                            )
                          )) AS DOUBLE) * 0.03125e0
                      ) / CAST(COUNT(
                        CASE
                          WHEN (
                            (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            ) * (
                              CASE WHEN t2."weight_kg" BETWEEN (
                                -1.7976931348623157e308
                              ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                            )
                          ) BETWEEN (
                            -1.7976931348623157e308
                          ) AND 1.7976931348623157e308
                          THEN (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                          ) * (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END - 151e0
                          )
                        END
                      ) FILTER(WHERE
                        (
                          NOT (
                            t1."cost" IS NULL
                          )
                        )
                        AND (
                          NOT (
                            CASE WHEN t2."weight_kg" BETWEEN (
                              -1.7976931348623157e308
                            ) AND 1.7976931348623157e308 THEN t2."weight_kg" END IS NULL
                          )
                        )) AS DOUBLE)
                    ) AS a4
                  FROM "main"."visit" AS t1
                  JOIN "main"."patient" AS t2
                    ON t2."id" = t1."patient_id"
                  GROUP BY
                    (
                      CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t2."id" AS TEXT)), 15)) AS BIGINT) % 40
                    ),
                    t1."reason"
                ) AS t3
                OFFSET 0
              ) AS t4
              OFFSET 0
            ) AS t5
            OFFSET 0
          ) AS t6
          OFFSET 0
        ) AS t7
        OFFSET 0
      ) AS t8
    ) AS t9
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t9_t8_t7_t6_t5_t4_t3_t1_4.x AS TEXT) AS k0
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
  ) AS d_t9_t8_t7_t6_t5_t4_t3_t1_4
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
  dpsql_release_0.a0 AS "n",
  (
    dpsql_release_1.a0 / 40
  ) AS "r"
FROM (
  SELECT
    *
  FROM dpsql_release_0
  WHERE
    dpsql_release_0.dpsql_present_0
) AS dpsql_release_0
JOIN dpsql_release_1
  ON dpsql_release_0.k0 IS NOT DISTINCT FROM dpsql_release_1.k0;
