SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 3;

-- ----
-- refused: 0A000 at 46: this correlated subquery over people is not answered | use EXISTS (SELECT 1 FROM visit v WHERE v.patient_id = p.id AND …), IN, or a join
