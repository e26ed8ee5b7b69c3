SELECT * FROM dpsql.budget;

-- ----
-- outer
SELECT
  *
FROM "dpsql_budget" AS "budget";
