SELECT DISTINCT ON (sex) sex, height_cm FROM patient;

-- ----
-- refused: 0A000: this DISTINCT ON would pick rows from several people | DISTINCT ON (id) picks one row of each person; else use GROUP BY with an aggregate
