SELECT 1 + 1 AS two;

-- ----
-- outer
SELECT
  1 + 1 AS two;
