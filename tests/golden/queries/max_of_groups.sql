SELECT batch_id, MAX(result) FROM sample GROUP BY batch_id;

-- ----
-- release 0
-- groups: selected
--   k0: batch_id (integer)
-- selection: weight w in 1/1048576, at most 200 groups
-- a0: MAX(result) (double) = picked, number 0 of q0
-- note: MIN and MAX are approximate: some people have values beyond them
WITH partial AS (
  SELECT
    u,
    k0
  FROM (
    SELECT
      t1_0."patient_id" AS u,
      t1."batch_id" AS k0
    FROM "main"."sample" AS t1
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
        WHEN scale.t > 200
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

-- q0: MAX(result): quantiles 1 of 0 … 1638400
-- one unit weighs: l1 None, l2 √3355443200; a row 4096
-- near is less than 118632448; steps of 1/16384
WITH kept AS MATERIALIZED (
  SELECT
    u,
    k0,
    MAX(v) AS v
  FROM (
    SELECT
      *
    FROM (
      SELECT
        t1_0."patient_id" AS u,
        t1."batch_id" AS k0,
        CASE
          WHEN CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END < 0e0
          THEN 0
          WHEN CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END > 100e0
          THEN 1638400
          ELSE CAST(CASE WHEN t1."result" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."result" END * 16384e0 AS BIGINT)
        END AS v
      FROM "main"."sample" AS t1
      JOIN "main"."visit" AS t1_0
        ON t1."visit_id" = t1_0."id"
    ) AS r
    WHERE
      NOT v IS NULL
  ) AS r
  GROUP BY
    u,
    k0
), scale AS (
  SELECT
    u,
    CAST(TRUNC(57926.18751474929e0 / SQRT(CAST(SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) AS DOUBLE))) AS BIGINT) AS m
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
    SUM(CAST(c.c AS INT128) * CAST(c.c AS INT128)) > 200
), weighed AS MATERIALIZED (
  SELECT
    p.k0,
    p.v,
    (
      p.v - 0
    ) // 801 AS b,
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
    CAST(n AS INT128) - (
      CAST(below AS INT128) + CAST(w AS INT128)
    ) < 118632448
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
  dpsql_release_0.k0 AS "batch_id",
  dpsql_release_0.a0 AS "max"
FROM dpsql_release_0;
