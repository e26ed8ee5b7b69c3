WITH released AS (
  SELECT
    (
      COALESCE(SUM(v0), 0)
    ) AS s0
  FROM (
    SELECT
      t4.u AS u,
      CASE
        WHEN (
          CASE WHEN t4.c1 BETWEEN (
            -1.8092513943330656e+75
          ) AND 1.8092513943330656e+75 THEN t4.c1 END - CAST(130e0 AS DOUBLE PRECISION)
        ) < (
          -90e0
        )
        THEN (
          -737280
        )
        WHEN (
          CASE WHEN t4.c1 BETWEEN (
            -1.8092513943330656e+75
          ) AND 1.8092513943330656e+75 THEN t4.c1 END - CAST(130e0 AS DOUBLE PRECISION)
        ) > 90e0
        THEN 737280
        ELSE CAST((
          CASE WHEN t4.c1 BETWEEN (
            -1.8092513943330656e+75
          ) AND 1.8092513943330656e+75 THEN t4.c1 END - CAST(130e0 AS DOUBLE PRECISION)
        ) * 8192e0 AS BIGINT)
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
              CAST(CAST((
                'x' || LEFT(ENCODE(SHA256(CONVERT_TO('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT), 'UTF8')), 'hex'), 15)
              ) AS BIT(60)) AS BIGINT) % 50
            ) AS u,
            (
              CAST(SUM(t1."height_cm") AS DOUBLE PRECISION) / CAST(COUNT(t1."height_cm") AS DOUBLE PRECISION)
            ) AS a0
          FROM "public"."patient" AS t1
          GROUP BY
            (
              CAST(CAST((
                'x' || LEFT(ENCODE(SHA256(CONVERT_TO('dpsql block key 7b1f5c93e2a84d06' || CAST(t1."id" AS TEXT), 'UTF8')), 'hex'), 15)
              ) AS BIT(60)) AS BIGINT) % 50
            )
        ) AS t2
        OFFSET 0
      ) AS t3
    ) AS t4
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
