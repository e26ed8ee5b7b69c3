SELECT COUNT(*) FROM patient WHERE id NOT IN (SELECT v.patient_id FROM patient p LEFT JOIN visit v ON v.patient_id = p.id);

-- ----
-- refused: 0A000 at 36: IN over people whose key may be missing would compare everybody with nobody | use an inner join inside of the subquery
