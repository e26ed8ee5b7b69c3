SELECT COUNT(*) FROM visit WHERE patient_id IN (SELECT patient_id FROM survey WHERE drinks = 'yes');

-- ----
-- refused: 0A000 at 85: drinks was randomized by the people themselves, and this use of it cannot be freed of that | put the condition on drinks beside the aggregate: JOIN its table, or SELECT drinks in the subquery, then COUNT, SUM or AVG with WHERE drinks = … or FILTER (WHERE drinks = …)
