SELECT COUNT(*) FROM patient NATURAL JOIN visit;

-- ----
-- refused: 0A000: patient and visit are joined, but not by the same person | add the condition patient.id = visit.patient_id
