-- A quotient by zero is NULL, a cast that fails is NULL.
SELECT COUNT(*) FROM patient WHERE weight_kg / height_cm > 0.4 AND CAST(diagnosis AS INTEGER) > 3;

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
      CASE
        WHEN (
          CASE WHEN t1."weight_kg" BETWEEN (
            -1.7976931348623157e308
          ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CAST(t1."height_cm" AS DOUBLE)
        ) BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308
        THEN CASE WHEN t1."weight_kg" BETWEEN (
          -1.7976931348623157e308
        ) AND 1.7976931348623157e308 THEN t1."weight_kg" END / CAST(t1."height_cm" AS DOUBLE)
      END > 0.4e0
      AND TRY_CAST(REGEXP_EXTRACT(t1."diagnosis", '^\s*([+-]?\d+)\s*$', 1) AS INT) > 3
  ) AS r
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
