SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 3;

-- ----
-- refused: 0A000 at 46: a subquery for one value reads a column that its own tables do not have | what depends on the outer row is answered as EXISTS or IN, or as a join with a grouped subquery
