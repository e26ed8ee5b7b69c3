SELECT COUNT(*) FROM patient p, LATERAL (SELECT * FROM visit v WHERE v.patient_id = p.id) AS t;

-- ----
-- refused: 42P01: this is not a table or a subquery | name a table in FROM
