DROP TABLE patient;

-- ----
-- refused: 42501 at 1: DROP is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …
