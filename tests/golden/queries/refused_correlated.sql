SELECT COUNT(*) FROM patient p WHERE (SELECT COUNT(*) FROM visit v WHERE v.patient_id = p.id) > 3;

-- ----
-- refused: 0A000 at 46: a subquery is answered only after IN and EXISTS | ask for its number first and write it here, or join the table, or write x IN (SELECT …)
