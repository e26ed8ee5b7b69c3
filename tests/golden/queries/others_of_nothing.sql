-- Nothing here adds up over groups.
-- with others
SELECT drug, MEDIAN(dose) FROM prescription GROUP BY drug;

-- ----
-- release 0
-- groups: selected
--   k0: drug (text)
-- selection: weight w in 1/1048576, at most 100 groups
-- a0: MEDIAN(dose) (double) = picked, number 0 of q0
-- note: each person counts with at most 100 rows (max_rows of prescription)
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
WITH partial AS (
  SELECT
    u,
    k0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      t1."drug" AS k0
    FROM "main"."prescription" AS t1
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
  ) AS r
  GROUP BY
    u,
    k0
), clamped AS MATERIALIZED (
  SELECT
    u,
    k0
  FROM partial
), scale AS (
  SELECT
    u,
    COUNT(*) AS t
  FROM clamped
  GROUP BY
    u
  HAVING
    COUNT(*) > 1
), released AS (
  SELECT
    clamped.k0,
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
)
SELECT
  released.k0,
  COALESCE(released.w, 0) AS w
FROM released
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
      t1_0."patient_id" AS u,
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
    JOIN "main"."visit" AS t1_0
      ON t1."visit_id" = t1_0."id"
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

-- outer
-- note: there is no row of the groups that are not shown: nothing here adds up over groups; ask for COUNT(*) beside it
SELECT
  dpsql_release_0.k0 AS "drug",
  dpsql_release_0.a0 AS "median"
FROM dpsql_release_0;
