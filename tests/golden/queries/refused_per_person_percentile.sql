SELECT AVG(m) FROM (SELECT patient_id, PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) AS m FROM visit GROUP BY patient_id) AS t;

-- ----
-- refused: 0A000: PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) of one person's rows lies between two of them, and is not answered | PERCENTILE_DISC picks one of the rows; PERCENTILE_CONT(0.5) is answered
