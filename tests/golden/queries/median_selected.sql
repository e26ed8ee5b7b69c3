-- Groups are selected as ever; values of groups that are not named are dropped.
SELECT diagnosis, MEDIAN(weight_kg) FROM patient GROUP BY diagnosis;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
-- a0: MEDIAN(weight_kg) (double) = picked, number 0 of q0
-- note: a quantile is a value of its column's range, never halfway between two; it is NULL in a group of hardly anybody
WITH released AS (
  SELECT
    k0,
    COUNT(*) AS w
  FROM (
    SELECT
      t1."id" AS u,
      t1."diagnosis" AS k0
    FROM "main"."patient" AS t1
  ) AS r
  GROUP BY
    k0
)
SELECT
  released.k0,
  COALESCE(released.w, 0) AS w
FROM released
ORDER BY
  released.k0;

-- q0: MEDIAN(weight_kg): quantiles 1/2 of 8192 … 1228800
-- one unit weighs: l1 1, l2 1; a row 1
-- near is less than 2048; steps of 1/4096
WITH weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 8192
    ) // 597 AS b,
    1 AS w
  FROM (
    SELECT
      *
    FROM (
      SELECT
        t1."id" AS u,
        t1."diagnosis" AS k0,
        CASE
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 2e0
          THEN 8192
          WHEN CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END > 300e0
          THEN 1228800
          ELSE CAST(CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END * 4096e0 AS BIGINT)
        END AS v
      FROM "main"."patient" AS t1
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
  dpsql_release_0.k0 AS "diagnosis",
  dpsql_release_0.a0 AS "median"
FROM dpsql_release_0;
