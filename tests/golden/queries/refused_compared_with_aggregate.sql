SELECT COUNT(*) FROM patient WHERE height_cm > (SELECT AVG(height_cm) FROM patient);

-- ----
-- refused: 0A000 at 56: a condition on rows of people compares them with an aggregate over people | ask for the aggregate first, then write its number into the condition
