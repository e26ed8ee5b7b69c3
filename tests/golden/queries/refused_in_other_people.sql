SELECT COUNT(*) FROM patient WHERE region IN (SELECT region FROM patient WHERE diagnosis = 'rare');

-- ----
-- refused: 0A000 at 36: IN compares people with each other | compare the key of the person with itself, e.g. patient.id IN (SELECT patient_id FROM visit …)
