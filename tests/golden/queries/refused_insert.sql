INSERT INTO region VALUES ('west', 'Y', 1);

-- ----
-- refused: 42501 at 1: INSERT is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …
