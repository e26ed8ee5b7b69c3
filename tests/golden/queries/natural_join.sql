SELECT sex, COUNT(*) FROM patient NATURAL JOIN (SELECT patient_id AS id, ward FROM visit) AS v GROUP BY sex;

-- ----
-- refused: 42703 at 74: there is no column 'ward' | there are id, patient_id, day, cost, reason
