SELECT COUNT(*) FROM patient; SELECT COUNT(*) FROM visit;

-- ----
-- refused: 42601 at 29: there is more than one statement | send them one by one
