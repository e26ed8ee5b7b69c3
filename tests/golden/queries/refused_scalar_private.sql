SELECT COUNT(*) FROM visit WHERE cost > (SELECT AVG(cost) FROM visit);

-- ----
-- refused: 0A000 at 49: a condition on rows of people compares them with an aggregate over people | ask for the aggregate first, then write its number into the condition
