SELECT COUNT(*) FROM patient AS p LEFT JOIN visit AS v ON v.patient_id = p.id AND v.cost > 300
WHERE v.patient_id NOT IN (SELECT patient_id FROM visit WHERE cost > 399)

-- ----
-- refused: 0A000 at 104: IN over people, of a key that may be missing, depends on whether anybody is found | use EXISTS or NOT EXISTS (SELECT 1 FROM … WHERE its key = this one)
