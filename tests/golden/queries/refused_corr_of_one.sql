SELECT CORR(height_cm) FROM patient;

-- ----
-- refused: 42601 at 22: syntax error near ')' | PostgreSQL's SELECT syntax is spoken here
