-- clipped in l1
SELECT sex, dpsql.over_blocks(AVG(weight_kg) / AVG(height_cm), low => 0, high => 2, combine => 'median')
  FILTER (WHERE smoker) AS q FROM patient GROUP BY sex;

-- ----
-- release 0
-- groups: public, at most 2
--   k0: sex (text)
-- a0: dpsql.over_blocks(AVG(weight_kg) / AVG(height_cm), low => 0, high => 2, combine => 'median') FILTER(WHERE smoker) (double) = picked, number 0 of q0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- note: rows whose sex is not one of the 2 declared values are in no group
WITH keys AS (
  SELECT DISTINCT
    CAST(d_t4_t3_t2_t1_1.x AS TEXT) AS k0
  FROM (
    SELECT
      x
    FROM (VALUES
      (CAST('F' AS TEXT)),
      (CAST('M' AS TEXT))) AS v(x)
  ) AS d_t4_t3_t2_t1_1
)
SELECT
  keys.k0
FROM keys
ORDER BY
  keys.k0;

-- q0: dpsql.over_blocks(AVG(weight_kg) / AVG(height_cm), low => 0, high => 2, combine => 'median') FILTER(WHERE smoker): quantiles 1/2 of 0 … 1048576
-- one unit weighs: l1 2, l2 2; a row 1
-- near is less than 2048; steps of 1/524288
WITH weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 0
    ) // 513 AS b,
    1 AS w
  FROM (
    SELECT
      *
    FROM (
      SELECT
        t4.u AS u,
        t4.c0 AS k0,
        CASE WHEN t4.c3 < 0e0 THEN 0 WHEN t4.c3 > 2e0 THEN 1048576 ELSE CAST(t4.c3 * 524288e0 AS BIGINT) END AS v
      FROM (
        SELECT
          t3.c0 AS c0,
          t3.c1 AS c1,
          t3.c2 AS c2,
          CASE
            WHEN (
              t3.c1 / t3.c2
            ) BETWEEN (
              -1.7976931348623157e308
            ) AND 1.7976931348623157e308
            THEN t3.c1 / t3.c2
          END AS c3,
          t3.u AS u
        FROM (
          SELECT
            t2.k0 AS c0,
            t2.a0 AS c1,
            t2.a1 AS c2,
            t2.u AS u
          FROM (
            SELECT
              (
                CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT)), 15)) AS BIGINT) % 100
              ) AS u,
              t1."sex" AS k0,
              (
                (
                  CAST(SUM(
                    CASE
                      WHEN CASE WHEN t1."weight_kg" BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
                      THEN 137438953472
                      WHEN CASE WHEN t1."weight_kg" BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
                      THEN 20615843020800
                      ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
                        -1.7976931348623157e308
                      ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 68719476736e0 AS BIGINT)
                    END
                  ) FILTER(WHERE
                    t1."smoker") AS DOUBLE) * 1.4551915228366852e-11
                ) / CAST(COUNT(
                  CASE WHEN t1."weight_kg" BETWEEN (
                    -1.7976931348623157e308
                  ) AND 1.7976931348623157e308 THEN t1."weight_kg" END
                ) FILTER(WHERE
                  t1."smoker") AS DOUBLE)
              ) AS a0,
              (
                CAST(SUM(t1."height_cm") FILTER(WHERE
                  t1."smoker") AS DOUBLE) / CAST(COUNT(t1."height_cm") FILTER(WHERE
                  t1."smoker") AS DOUBLE)
              ) AS a1
            FROM "main"."patient" AS t1
            GROUP BY
              (
                CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT)), 15)) AS BIGINT) % 100
              ),
              t1."sex"
          ) AS t2
          OFFSET 0
        ) AS t3
      ) AS t4
    ) AS r
    WHERE
      NOT v IS NULL
  ) AS p
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
      CAST(below AS INT128) * 2 - CAST(n AS INT128) * 1 < 4096
      AND CAST(n AS INT128) * 1 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 2 < 4096
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
  dpsql_release_0.k0 AS "sex",
  dpsql_release_0.a0 AS "q"
FROM dpsql_release_0;
