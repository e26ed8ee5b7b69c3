SELECT COUNT(*) FROM visit v WHERE EXISTS (SELECT 1 FROM visit w WHERE w.day = v.day AND w.patient_id <> v.patient_id);

-- ----
-- refused: 0A000 at 51: IN compares people with each other | compare the key of the person with itself, e.g. patient.id IN (SELECT patient_id FROM visit …)
