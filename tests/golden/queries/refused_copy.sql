COPY patient TO 'out.csv';

-- ----
-- refused: 42501 at 1: COPY is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …
