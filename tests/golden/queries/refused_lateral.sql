SELECT COUNT(*) FROM patient p, LATERAL (SELECT * FROM visit v WHERE v.patient_id = p.id) AS t;

-- ----
-- refused: 0A000: LATERAL over rows of people is not answered | join the subquery: JOIN (SELECT …) AS x ON x.id = p.id
