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
      CAST(t1."birth_year" AS INT) BETWEEN 1950 AND 1980
      AND (
        t1."diagnosis" COLLATE "C"
      ) LIKE 'a%'
      AND (
        t1."region" COLLATE "C"
      ) IN ('north', 'south')
      AND NOT (
        t1."smoker" IS NULL
      )
      AND NOT (
        (
          t1."height_cm" > 180
        )
        OR (
          CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < CAST(50e0 AS DOUBLE PRECISION)
        )
      )
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
