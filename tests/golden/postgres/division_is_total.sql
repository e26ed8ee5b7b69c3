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
        (
          (
            CASE WHEN t1."weight_kg" BETWEEN (
              -1.8092513943330656e+75
            ) AND 1.8092513943330656e+75 THEN t1."weight_kg" END + 5.808887872273977e-121
          ) - 5.808887872273977e-121
        ) / NULLIF(CAST(t1."height_cm" AS DOUBLE PRECISION), 0)
      ) > CAST(0.4e0 AS DOUBLE PRECISION)
      AND CASE
        WHEN CAST(SUBSTRING(CASE WHEN OCTET_LENGTH((
          t1."diagnosis" COLLATE "C"
        )) <= 50000000 THEN (
          t1."diagnosis" COLLATE "C"
        ) END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) > (
          -2147483648.5
        )
        AND CAST(SUBSTRING(CASE WHEN OCTET_LENGTH((
          t1."diagnosis" COLLATE "C"
        )) <= 50000000 THEN (
          t1."diagnosis" COLLATE "C"
        ) END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) < 2147483647.5
        THEN CAST(CAST(SUBSTRING(CASE WHEN OCTET_LENGTH((
          t1."diagnosis" COLLATE "C"
        )) <= 50000000 THEN (
          t1."diagnosis" COLLATE "C"
        ) END FROM '^[ \t\n\f\r]*([+-]?0*\d{1,40})[ \t\n\f\r]*$') AS DECIMAL) AS INT)
      END > 3
    OFFSET 0
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;
