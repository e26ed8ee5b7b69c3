SELECT COUNT(*) FROM patient WHERE height_cm > (SELECT AVG(height_cm) FROM patient);

-- ----
-- refused: 0A000 at 56: a subquery is answered only after IN and EXISTS | ask for its number first and write it here, or join the table, or write x IN (SELECT …)
