-- Days of visits, of people with several visits.
SELECT PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY day), MAX(day) FROM visit;

-- ----
-- release 0
-- groups: one group
-- a0: PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY day) (date) = picked, number 0 of q0
-- a1: MAX(day) (date) = picked, number 0 of q1
-- note: each person counts with at most 40 rows (max_rows of visit)
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
-- note: MIN and MAX are approximate: some people have values beyond them
-- q0: PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY day): quantiles 9/10 of 737425 … 739616
-- one unit weighs: l1 163840, l2 163840; a row 4096
-- near is less than 335544320; steps of 1
WITH kept AS MATERIALIZED (
  SELECT
    *
  FROM (
    SELECT
      t1."patient_id" AS u,
      CAST(CASE
        WHEN (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        ) < 737425
        THEN 737425
        WHEN (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        ) > 739616
        THEN 739616
        ELSE (
          CAST((
            CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
          ) AS BIGINT)
        )
      END AS BIGINT) AS v
    FROM "main"."visit" AS t1
  ) AS r
  WHERE
    NOT v IS NULL
), scale AS (
  SELECT
    u,
    CAST(TRUNC(163839.999999851e0 / CAST(COUNT(*) AS DOUBLE)) AS BIGINT) AS m
  FROM (
    SELECT
      *
    FROM kept
  ) AS r
  GROUP BY
    u
  HAVING
    COUNT(*) > 40
), weighed AS MATERIALIZED (
  SELECT
    p.v,
    (
      p.v - 737425
    ) // 2 AS b,
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
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    b
), spread AS (
  SELECT
    b,
    w,
    (
      SUM(w) OVER (ORDER BY b) - w
    ) AS below,
    SUM(w) OVER () AS n
  FROM coarse
), near AS (
  SELECT
    b,
    below,
    n
  FROM spread
  WHERE
    (
      CAST(below AS INT128) * 10 - CAST(n AS INT128) * 9 < 3355443200
      AND CAST(n AS INT128) * 9 - (
        CAST(below AS INT128) + CAST(w AS INT128)
      ) * 10 < 3355443200
    )
), found AS (
  SELECT
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b
    GROUP BY
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b
)
SELECT
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- q1: MAX(day): quantiles 1 of 737425 … 739616
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1
WITH weighed AS MATERIALIZED (
  SELECT
    p.v,
    (
      p.v - 737425
    ) // 2 AS b,
    1 AS w
  FROM (
    SELECT
      u,
      MAX(v) AS v
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t1."patient_id" AS u,
          CAST(CASE
            WHEN (
              CAST((
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
              ) AS BIGINT)
            ) < 737425
            THEN 737425
            WHEN (
              CAST((
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
              ) AS BIGINT)
            ) > 739616
            THEN 739616
            ELSE (
              CAST((
                CASE WHEN t1."day" BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE) THEN t1."day" END - CAST('1970-01-01' AS DATE) + 719163
              ) AS BIGINT)
            )
          END AS BIGINT) AS v
        FROM "main"."visit" AS t1
      ) AS r
      WHERE
        NOT v IS NULL
    ) AS r
    GROUP BY
      u
  ) AS p
), coarse AS (
  SELECT
    b AS b,
    SUM(w) AS w
  FROM (
    SELECT
      *
    FROM weighed
  ) AS h
  GROUP BY
    b
), spread AS (
  SELECT
    b,
    w,
    (
      SUM(w) OVER (ORDER BY b) - w
    ) AS below,
    SUM(w) OVER () AS n
  FROM coarse
), near AS (
  SELECT
    b,
    below,
    n
  FROM spread
  WHERE
    CAST(n AS INT128) - (
      CAST(below AS INT128) + CAST(w AS INT128)
    ) < 2048
), found AS (
  SELECT
    g.b,
    g.v,
    g.w,
    near.below AS start,
    near.n
  FROM (
    SELECT
      near.b,
      h.v,
      SUM(h.w) AS w
    FROM weighed AS h
    JOIN near
      ON h.b = near.b
    GROUP BY
      near.b,
      h.v
  ) AS g
  JOIN near
    ON g.b = near.b
)
SELECT
  v,
  CAST(w AS BIGINT) AS w,
  CAST(start AS BIGINT) AS below,
  CAST(n AS BIGINT) AS n
FROM found;

-- outer
SELECT
  dpsql_release_0.a0 AS "percentile_disc",
  dpsql_release_0.a1 AS "max"
FROM dpsql_release_0;
