SELECT MAX(income) FROM survey;

-- ----
-- refused: 0A000 at 8: MAX(income) of people by income, which they randomized themselves, is not answered | COUNT, SUM and AVG add up over people, and are answered by income: SELECT income, COUNT(*), AVG(x) … GROUP BY income, or with FILTER (WHERE income = …)
