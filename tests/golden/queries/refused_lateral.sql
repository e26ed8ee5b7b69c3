SELECT COUNT(*) FROM patient AS p, LATERAL (SELECT v.cost FROM visit AS v WHERE v.patient_id = p.id ORDER BY v.day LIMIT 2) AS x;

-- ----
-- refused: 0A000: LATERAL over rows of people is not answered | join the subquery: JOIN (SELECT …) AS x ON x.id = p.id
