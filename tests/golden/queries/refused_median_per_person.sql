SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visit GROUP BY patient_id) AS t;

-- ----
-- refused: 0A000: MEDIAN(cost) of one person's rows is not answered | MIN, MAX, AVG and SUM are
