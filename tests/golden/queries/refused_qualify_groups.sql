SELECT reason, COUNT(*) FROM visit GROUP BY reason QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id) = 1;

-- ----
-- refused: 0A000: QUALIFY beside GROUP BY is not answered | put the aggregates into a subquery in FROM
