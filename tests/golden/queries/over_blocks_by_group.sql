-- One block has other answers in each of the groups, and those of people are counted beside it.
SELECT reason, COUNT(*) AS n, dpsql.over_blocks(AVG(cost) / AVG(p.weight_kg), blocks => 40, low => 0, high => 2) AS r
FROM visit v JOIN patient p ON p.id = v.patient_id GROUP BY reason;

-- ----
-- release 0
-- groups: public, at most 4
--   k0: reason (text)
-- one unit moves: l1 None, l2 1342177280
--   s0: COUNT(*) (steps of 1/33554432, at most 1342177280)
-- a0: COUNT(*) (bigint) = 1/33554432 · s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
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
      ON t1."patient_id" = t2."id"
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
--   s0: Σ dpsql.over_blocks(AVG(cost) / AVG(weight_kg), blocks => 40, low => 0, high => 2) (steps of 1/524288, at most 1048576)
-- a0: dpsql.over_blocks(AVG(cost) / AVG(weight_kg), blocks => 40, low => 0, high => 2) (double) = 1/524288 · s0
-- note: rows whose reason is not one of the 3 declared values are in no group
WITH released AS (
  SELECT
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t5.u AS u,
      t5.c0 AS k0,
      CASE
        WHEN CASE WHEN (
          t5.c3 - 1e0
        ) BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5.c3 - 1e0 END < (
          -1e0
        )
        THEN (
          -524288
        )
        WHEN CASE WHEN (
          t5.c3 - 1e0
        ) BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5.c3 - 1e0 END > 1e0
        THEN 524288
        ELSE CAST(CASE WHEN (
          t5.c3 - 1e0
        ) BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t5.c3 - 1e0 END * 524288e0 AS BIGINT)
      END AS v0
    FROM (
      SELECT
        t4.c0 AS c0,
        t4.c1 AS c1,
        t4.c2 AS c2,
        CASE
          WHEN (
            t4.c1 / t4.c2
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN t4.c1 / t4.c2
        END AS c3,
        t4.u AS u
      FROM (
        SELECT
          t3.k0 AS c0,
          t3.a0 AS c1,
          t3.a1 AS c2,
          t3.u AS u
        FROM (
          SELECT
            (
              CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t2."id" AS TEXT)), 15)) AS BIGINT) % 40
            ) AS u,
            t1."reason" AS k0,
            (
              ROUND(CAST(SUM(t1."cost") AS DOUBLE) * 100e0) / (
                CAST(COUNT(t1."cost") AS DOUBLE) * 100e0
              )
            ) AS a0,
            (
              (
                CAST(SUM(
                  CASE
                    WHEN CASE WHEN t2."weight_kg" BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308 THEN t2."weight_kg" END < 2e0
                    THEN 137438953472
                    WHEN CASE WHEN t2."weight_kg" BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308 THEN t2."weight_kg" END > 300e0
                    THEN 20615843020800
                    ELSE CAST(CASE WHEN t2."weight_kg" BETWEEN (
                      -1.7976931348623157e308
                    ) AND 1.7976931348623157e308 THEN t2."weight_kg" END * 68719476736e0 AS BIGINT)
                  END
                ) AS DOUBLE) * 1.4551915228366852e-11
              ) / CAST(COUNT(
                CASE WHEN t2."weight_kg" BETWEEN (
                  -1.7976931348623157e308
                ) AND 1.7976931348623157e308 THEN t2."weight_kg" END
              ) AS DOUBLE)
            ) AS a1
          FROM "main"."visit" AS t1
          JOIN "main"."patient" AS t2
            ON t1."patient_id" = t2."id"
          GROUP BY
            (
              CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t2."id" AS TEXT)), 15)) AS BIGINT) % 40
            ),
            t1."reason"
        ) AS t3
        OFFSET 0
      ) AS t4
    ) AS t5
  ) AS r
  GROUP BY
    k0
), keys AS (
  SELECT DISTINCT
    CAST(d_t5_t4_t3_t1_4.x AS TEXT) AS k0
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
  ) AS d_t5_t4_t3_t1_4
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
    dpsql_release_1.a0 / 40 + 1
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
