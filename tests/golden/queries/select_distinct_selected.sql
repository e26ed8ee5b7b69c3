SELECT DISTINCT diagnosis FROM patient;

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
      t1."id" AS u,
      t1."diagnosis" AS k0
    FROM "main"."patient" AS t1
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
  dpsql_release_0.k0 AS "diagnosis"
FROM dpsql_release_0;
