SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 3;

-- ----
-- refused: 42703 at 91: there is no 'p' in FROM | there are v
