SELECT COUNT(*) FROM visit, region, patient WHERE patient_id = patient.id AND ((region = name AND country = 'X') OR (name = region AND cost > 100));

-- ----
-- release 0
-- groups: one group
-- one unit moves: l1 40, l2 40
--   s0: COUNT(*) (steps of 1, at most 40)
-- a0: COUNT(*) (bigint) = s0, rounded, at least 0
-- note: each person counts with at most 40 rows (max_rows of visit)
WITH partial AS (
  SELECT
    u,
    (
      COUNT(*)
    ) AS s0
  FROM (
    SELECT
      t3."id" AS u
    FROM "main"."visit" AS t1
    CROSS JOIN "main"."region" AS t2
    JOIN "main"."patient" AS t3
      ON t1."patient_id" = t3."id"
    WHERE
      (
        (
          t3."region" = t2."name"
        ) AND (
          t2."country" = 'X'
        )
      )
      OR (
        (
          t2."name" = t3."region"
        ) AND (
          t1."cost" > CAST(100 AS DECIMAL(8, 2))
        )
      )
  ) AS r
  GROUP BY
    u
), clamped AS (
  SELECT
    u,
    CAST(CASE WHEN s0 > 40 THEN 40 ELSE s0 END AS BIGINT) AS s0
  FROM partial
), released AS (
  SELECT
    SUM(clamped.s0) AS s0
  FROM clamped
)
SELECT
  COALESCE(released.s0, 0) AS s0
FROM released;

-- outer
SELECT
  dpsql_release_0.a0 AS "count"
FROM dpsql_release_0;
