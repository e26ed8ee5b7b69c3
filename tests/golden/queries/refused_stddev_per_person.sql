SELECT AVG(s) FROM (SELECT patient_id, STDDEV(cost) AS s FROM visit GROUP BY patient_id) AS t;

-- ----
-- refused: 0A000: STDDEV of one person's rows is not answered | ask for the STDDEV over people, or for AVG(x) and AVG(x * x) of each person
