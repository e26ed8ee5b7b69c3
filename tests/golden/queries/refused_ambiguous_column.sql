SELECT COUNT(id) FROM patient JOIN visit ON patient.id = visit.patient_id;

-- ----
-- refused: 42702 at 14: column 'id' is ambiguous | write patient.id
