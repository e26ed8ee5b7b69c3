SELECT COUNT(*) FROM patient WHERE birth_year BETWEEN 1950 AND 1980 AND diagnosis LIKE 'a%' AND region IN ('north', 'south') AND smoker IS NOT NULL AND NOT (height_cm > 180 OR weight_kg < 50);

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 1, l2 1
--   s0: COUNT(*) (steps of 1, at most 1)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
WITH released AS (
  SELECT
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t1."id" AS u
    FROM "main"."patient" AS t1
    WHERE
      CAST(t1."birth_year" AS INT) BETWEEN 1950 AND 1980
      AND t1."diagnosis" LIKE 'a%'
      AND t1."region" IN ('north', 'south')
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
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END < 50e0
        )
      )
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
