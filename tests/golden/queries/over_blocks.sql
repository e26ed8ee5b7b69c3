SELECT dpsql.over_blocks(AVG(height_cm), blocks => 50) AS height FROM patient;

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1474560, l2 1474560
--   s0: Σ dpsql.over_blocks(AVG(height_cm), blocks => 50) (steps of 1/8192, at most 1474560)
-- a0: dpsql.over_blocks(AVG(height_cm), blocks => 50) (double) = 1/8192 · s0
WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u,
      CASE
        WHEN CASE
          WHEN (
            t4.c1 - 130e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN t4.c1 - 130e0
        END < (
          -90e0
        )
        THEN (
          -737280
        )
        WHEN CASE
          WHEN (
            t4.c1 - 130e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN t4.c1 - 130e0
        END > 90e0
        THEN 737280
        ELSE CAST(CASE
          WHEN (
            t4.c1 - 130e0
          ) BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308
          THEN t4.c1 - 130e0
        END * 8192e0 AS BIGINT)
      END AS v0
    FROM (
      SELECT
        t3.c0 AS c0,
        t3.c0 AS c1,
        t3.u AS u
      FROM (
        SELECT
          t2.a0 AS c0,
          t2.u AS u
        FROM (
          SELECT
            (
              CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT)), 15)) AS BIGINT) % 50
            ) AS u,
            (
              CAST(SUM(t1."height_cm") AS DOUBLE) / CAST(COUNT(t1."height_cm") AS DOUBLE)
            ) AS a0
          FROM "main"."patient" AS t1
          GROUP BY
            (
              CAST(CONCAT('0x', LEFT(SHA256('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT)), 15)) AS BIGINT) % 50
            )
        ) AS t2
        OFFSET 0
      ) AS t3
    ) AS t4
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  (
    dpsql_release_0.a0 / 50 + 130
  ) AS "height"
FROM dpsql_release_0;
