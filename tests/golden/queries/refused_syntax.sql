SELECT COUNT(* FROM patient;

-- ----
-- refused: 42601 at 16: syntax error near 'FROM' | PostgreSQL's SELECT syntax is spoken here
