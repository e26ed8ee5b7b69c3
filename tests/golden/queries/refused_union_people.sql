SELECT COUNT(*) FROM (SELECT id FROM patient UNION SELECT patient_id FROM visit) AS t;

-- ----
-- refused: 0A000: UNION compares rows of people with each other | use UNION ALL, or COUNT each side
