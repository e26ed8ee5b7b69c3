SELECT MIN(diagnosis) FROM patient;

-- ----
-- release 0
-- groups: selected
--   k0: diagnosis (text)
-- selection: weight w in 1/1, at most 1 groups
WITH released AS (
  SELECT
    k0,
    COUNT(*) AS w
  FROM (
    SELECT
      t2."id" AS u,
      t2."diagnosis" AS k0
    FROM "main"."patient" AS t2
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

-- outer
SELECT
  (
    SELECT
      MIN("distinct_values"."diagnosis") AS a0
    FROM (
      SELECT
        dpsql_release_0.k0 AS "diagnosis"
      FROM dpsql_release_0
    ) AS distinct_values
  ) AS "min";
