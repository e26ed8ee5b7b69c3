SELECT COUNT(* FROM patient;

-- ----
-- refused: 42601 at 16: syntax error near 'FROM' | parentheses do not match: 1 opened, 0 closed
