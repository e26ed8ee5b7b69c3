-- A person is in several groups: people, distinct values and medians do not add up, and the total has none of them.
-- with others
SELECT drug, COUNT(*), COUNT(DISTINCT visit.patient_id), COUNT(DISTINCT dose), MEDIAN(dose), SUM(dose)
FROM prescription JOIN visit ON visit_id = visit.id GROUP BY drug;

-- ----
-- release 0
-- groups: selected
--   k0: drug (text)
-- selection: weight w in 1/1048576, at most 100 groups
-- one unit moves: l1 None, l2 2097152000
--   s0: Σ(dose - 0) (steps of 1/2097152, at most 2097152000)
--   s1: Σ(10 - dose) (steps of 1/2097152, at most 2097152000)
-- one unit moves: l1 None, l2 1342177280
--   s2: COUNT(DISTINCT patient_id) (steps of 1/134217728, at most 1342177280)
-- one unit moves: l1 100, l2 100
--   s3: COUNT(DISTINCT dose) (steps of 1, at most 100)
-- a0: COUNT(*) (bigint) = 1/20971520 · s0 + 1/20971520 · s1, rounded, at least 0
-- a1: COUNT(DISTINCT patient_id) (bigint) = 1/134217728 · s2, rounded, at least 0
-- a2: COUNT(DISTINCT dose) (bigint) = s3, rounded, at least 0
-- a3: MEDIAN(dose) (double) = picked, number 0 of q0
-- a4: SUM(dose) (double) = 1/2097152 · s0
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: COUNT(DISTINCT dose) credits each person with at most 100 values
-- note: dose is clipped into [0, 10]
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
WITH partial AS (
  SELECT
    u,
    k0,
    (
      COALESCE(SUM(v0), 0)
    ) AS s0,
    (
      -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 1310720
    ) AS s1,
    (
      COUNT(*)
    ) AS s2,
    COUNT(*) AS n0
  FROM (
    SELECT
      t2."patient_id" AS u,
      t1."drug" AS k0,
      CASE
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
        THEN 1310720
        ELSE CAST(CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
      END AS v0,
      (
        CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END + 0e0
      ) AS v1,
      NOT CASE WHEN t1."dose" BETWEEN (
        -1.7976931348623157e308
      ) AND 1.7976931348623157e308 THEN t1."dose" END IS NULL AS f2
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t2
      ON t1."visit_id" = t2."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0,
    CAST(CASE WHEN s0 > 134217728000 THEN 134217728000 ELSE s0 END AS BIGINT) AS s0,
    CAST(CASE WHEN s1 > 134217728000 THEN 134217728000 ELSE s1 END AS BIGINT) AS s1,
    CASE WHEN s2 > 0 THEN 1 ELSE 0 END AS s2,
    n0
  FROM partial
), scale AS (
  SELECT
    u,
    CASE WHEN SUM(clamped.n0) > 100 THEN (
      99.99999999990905e0 / CAST(SUM(clamped.n0) AS DOUBLE)
    ) ELSE NULL END AS rows_factor,
    CASE
      WHEN SUM(clamped.s2 * clamped.s2) > 100
      THEN (
        9.999999999990905e0 / SQRT(CAST(SUM(clamped.s2 * clamped.s2) AS DOUBLE))
      )
      ELSE NULL
    END AS people_factor,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    SUM(clamped.n0) > 100 OR SUM(clamped.s2 * clamped.s2) > 100 OR COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s0 AS DOUBLE) * scale.rows_factor * 16e0) AS BIGINT)
        ELSE clamped.s0 * 16
      END
    ) AS s0,
    SUM(
      CASE
        WHEN NOT scale.rows_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s1 AS DOUBLE) * scale.rows_factor * 16e0) AS BIGINT)
        ELSE clamped.s1 * 16
      END
    ) AS s1,
    SUM(
      CASE
        WHEN NOT scale.people_factor IS NULL
        THEN CAST(TRUNC(CAST(clamped.s2 AS DOUBLE) * scale.people_factor * 134217728e0) AS BIGINT)
        ELSE clamped.s2 * 134217728
      END
    ) AS s2,
    SUM(
      CASE
        WHEN scale.t IS NULL
        THEN 1048576
        WHEN scale.t > 100
        THEN 0
        ELSE CAST(TRUNC(1048575.9999990463e0 / SQRT(CAST(scale.t AS DOUBLE))) AS BIGINT)
      END
    ) AS w
  FROM clamped
  LEFT JOIN scale
    ON clamped.u = scale.u
  GROUP BY
    clamped.k0
), distinct_s3 AS (
  WITH people AS MATERIALIZED (
    SELECT
      t2."patient_id" AS u,
      t1."drug" AS k0,
      CASE
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
        THEN 1310720
        ELSE CAST(CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
      END AS v0,
      (
        CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END + 0e0
      ) AS v1,
      NOT CASE WHEN t1."dose" BETWEEN (
        -1.7976931348623157e308
      ) AND 1.7976931348623157e308 THEN t1."dose" END IS NULL AS f2
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t2
      ON t1."visit_id" = t2."id"
  ), many AS MATERIALIZED (
    SELECT
      u
    FROM people AS r
    WHERE
      f2
    GROUP BY
      u
    HAVING
      COUNT(*) > 100
  )
  SELECT
    k0,
    COUNT(*) AS s3
  FROM (
    SELECT DISTINCT
      k0,
      v1
    FROM (
      SELECT
        k0,
        v1
      FROM people AS r
      WHERE
        f2 AND NOT u IN (
          SELECT
            u
          FROM many
        )
      UNION ALL
      SELECT
        k0,
        v1
      FROM (
        SELECT
          *,
          ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, k0, v1) AS q
        FROM (
          SELECT
            *,
            LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(k0 AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))), 12) AS h
          FROM (
            SELECT DISTINCT
              u,
              k0,
              v1
            FROM people AS r
            WHERE
              f2 AND r.u IN (
                SELECT
                  u
                FROM many
              )
          ) AS d
        ) AS d
      ) AS d
      WHERE
        q <= 100
    ) AS d
  ) AS d
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.s0, 0) AS s0,
  COALESCE(released.s1, 0) AS s1,
  COALESCE(released.s2, 0) AS s2,
  COALESCE(distinct_s3.s3, 0) AS s3,
  COALESCE(released.w, 0) AS w
FROM released
LEFT JOIN distinct_s3
  ON released.k0 IS NOT DISTINCT FROM distinct_s3.k0
ORDER BY
  released.k0;

-- q0: MEDIAN(dose): quantiles 1/2 of 0 … 1310720
-- one unit weighs: l1 None, l2 409600; a row 4096
-- near is less than 838860800; steps of 1/131072
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t2."patient_id" AS u,
      t1."drug" AS k0,
      CASE
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
        THEN 0
        WHEN CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
        THEN 1310720
        ELSE CAST(CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
      END AS v
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t2
      ON t1."visit_id" = t2."id"
  ) AS r
  WHERE
    NOT v IS NULL
), scale AS (
  SELECT
    u,
    CAST(TRUNC(409599.9999996275e0 / SQRT(CAST(SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) AS DOUBLE))) AS BIGINT) AS m
  FROM (
    SELECT
      u,
      COUNT(*) AS c
    FROM (
      SELECT
        *
      FROM kept
    ) AS r
    GROUP BY
      u,
      k0
  ) AS c
  GROUP BY
    u
  HAVING
    SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) > 10000
), weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 0
    ) // 641 AS b,
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
      CAST(below AS INT128) * 2 - CAST(n AS INT128) * 1 < 1677721600
      AND CAST(n AS INT128) * 1 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 2 < 1677721600
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

-- release 1
-- groups: one group
-- one unit moves: l1 None, l2 2097152000
--   s0: Σ(dose - 0) (steps of 1/2097152, at most 2097152000)
--   s1: Σ(10 - dose) (steps of 1/2097152, at most 2097152000)
-- a0: COUNT(*) (bigint) = 1/20971520 · s0 + 1/20971520 · s1, rounded, at least 0
-- a4: SUM(dose) (double) = 1/2097152 · s0
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: COUNT(DISTINCT dose) credits each person with at most 100 values
-- note: dose is clipped into [0, 10]
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
SELECT
  s0,
  s1
FROM (
  WITH partial AS (
    SELECT
      u,
      (
        COALESCE(SUM(v0), 0)
      ) AS s0,
      (
        -COALESCE(SUM(v0), 0) + CAST(COUNT(*) AS INT128) * 1310720
      ) AS s1,
      (
        COUNT(*)
      ) AS s2,
      COUNT(*) AS n0
    FROM (
      SELECT
        t2."patient_id" AS u,
        CASE
          WHEN CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
          THEN 0
          WHEN CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
          THEN 1310720
          ELSE CAST(CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
        END AS v0,
        (
          CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END + 0e0
        ) AS v1,
        NOT CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END IS NULL AS f2
      FROM "main"."prescription" AS t1
      JOIN "main"."visit" AS t2
        ON t1."visit_id" = t2."id"
    ) AS r
    GROUP BY
      u
  ), clamped AS (
    SELECT
      u,
      CAST(CASE WHEN s0 > 134217728000 THEN 134217728000 ELSE s0 END AS BIGINT) AS s0,
      CAST(CASE WHEN s1 > 134217728000 THEN 134217728000 ELSE s1 END AS BIGINT) AS s1,
      CASE WHEN s2 > 0 THEN 1 ELSE 0 END AS s2,
      n0
    FROM partial
  ), released AS (
    SELECT
      SUM(
        CASE
          WHEN NOT measured.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(measured.s0 AS DOUBLE) * measured.rows_factor * 16e0) AS BIGINT)
          ELSE measured.s0 * 16
        END
      ) AS s0,
      SUM(
        CASE
          WHEN NOT measured.rows_factor IS NULL
          THEN CAST(TRUNC(CAST(measured.s1 AS DOUBLE) * measured.rows_factor * 16e0) AS BIGINT)
          ELSE measured.s1 * 16
        END
      ) AS s1,
      SUM(measured.s2) AS s2
    FROM (
      SELECT
        *,
        CASE WHEN clamped.n0 > 100 THEN (
          99.99999999990905e0 / CAST(clamped.n0 AS DOUBLE)
        ) ELSE NULL END AS rows_factor
      FROM clamped
    ) AS measured
  ), distinct_s3 AS (
    WITH people AS MATERIALIZED (
      SELECT
        t2."patient_id" AS u,
        CASE
          WHEN CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END < 0e0
          THEN 0
          WHEN CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END > 10e0
          THEN 1310720
          ELSE CAST(CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END * 131072e0 AS BIGINT)
        END AS v0,
        (
          CASE WHEN t1."dose" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."dose" END + 0e0
        ) AS v1,
        NOT CASE WHEN t1."dose" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."dose" END IS NULL AS f2
      FROM "main"."prescription" AS t1
      JOIN "main"."visit" AS t2
        ON t1."visit_id" = t2."id"
    ), many AS MATERIALIZED (
      SELECT
        u
      FROM people AS r
      WHERE
        f2
      GROUP BY
        u
      HAVING
        COUNT(*) > 100
    )
    SELECT
      COUNT(*) AS s3
    FROM (
      SELECT DISTINCT
        v1
      FROM (
        SELECT
          v1
        FROM people AS r
        WHERE
          f2 AND NOT u IN (
            SELECT
              u
            FROM many
          )
        UNION ALL
        SELECT
          v1
        FROM (
          SELECT
            *,
            ROW_NUMBER() OVER (PARTITION BY u ORDER BY h, v1) AS q
          FROM (
            SELECT
              *,
              LEFT(MD5(CONCAT(MD5(CAST(u AS TEXT)), ',', MD5(CAST(v1 AS TEXT)))), 12) AS h
            FROM (
              SELECT DISTINCT
                u,
                v1
              FROM people AS r
              WHERE
                f2 AND r.u IN (
                  SELECT
                    u
                  FROM many
                )
            ) AS d
          ) AS d
        ) AS d
        WHERE
          q <= 100
      ) AS d
    ) AS d
  )
  SELECT
    COALESCE(released.s0, 0) AS s0,
    COALESCE(released.s1, 0) AS s1,
    COALESCE(released.s2, 0) AS s2,
    COALESCE(distinct_s3.s3, 0) AS s3
  FROM released
  CROSS JOIN distinct_s3
) AS part;

-- outer
-- note: the groups that are not shown are added up in one row, where drug is '(other)' and GROUPING(drug) is 1
-- note: NULL in that row, since it does not add up over groups: COUNT(DISTINCT patient_id), COUNT(DISTINCT dose), MEDIAN(dose)
SELECT
  dpsql_release_0.k0 AS "drug",
  dpsql_release_0.a0 AS "count",
  dpsql_release_0.a1 AS "count",
  dpsql_release_0.a2 AS "count",
  dpsql_release_0.a3 AS "median",
  dpsql_release_0.a4 AS "sum"
FROM dpsql_release_0;
