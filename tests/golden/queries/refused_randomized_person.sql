SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM survey WHERE drinks = 'yes' GROUP BY patient_id) AS x;

-- ----
-- refused: 0A000: rows of one person by a column that people randomized themselves are not answered | ask for it of all people: GROUP BY that column, or WHERE, without the person
