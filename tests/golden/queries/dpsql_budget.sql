SELECT * FROM dpsql.budget;

-- ----
-- outer
SELECT
  budget.analyst AS "analyst",
  budget.accounting AS "accounting",
  budget.epsilon AS "epsilon",
  budget.delta AS "delta",
  budget.spent_epsilon AS "spent_epsilon",
  budget.left_epsilon AS "left_epsilon",
  budget.statements_left AS "statements_left",
  budget.used AS "used",
  budget.per AS "per",
  budget.renews AS "renews"
FROM "dpsql_budget" AS "budget";
