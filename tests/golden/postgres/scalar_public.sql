WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "public"."patient" AS t1
    WHERE
      (
        t1."region" COLLATE "C"
      ) = (
        (
          SELECT
            MIN(one.c0)
          FROM (
            SELECT
              (
                t2."name" COLLATE "C"
              ) AS c0
            FROM "public"."region" AS t2
            WHERE
              t2."population" = 100
          ) AS one
          HAVING
            COUNT(*) <= 1
        )
      )
      AND CAST(t1."height_cm" AS DOUBLE PRECISION) > (
        (
          SELECT
            MIN(one.c0)
          FROM (
            SELECT
              t4.a0 AS c0
            FROM (
              SELECT
                (
                  CAST(SUM(t3."population") AS DOUBLE PRECISION) / CAST(COUNT(t3."population") AS DOUBLE PRECISION)
                ) AS a0
              FROM "public"."region" AS t3
            ) AS t4
          ) AS one
          HAVING
            COUNT(*) <= 1
        )
      )
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
