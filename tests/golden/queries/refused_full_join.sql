SELECT COUNT(*) FROM patient p FULL JOIN visit v ON p.id = v.patient_id;

-- ----
-- refused: 0A000: FULL JOIN is not answered over people | use INNER JOIN, or LEFT JOIN with the people on the left
