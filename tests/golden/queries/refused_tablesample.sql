SELECT COUNT(*) FROM patient TABLESAMPLE BERNOULLI (10);

-- ----
-- refused: 0A000 at 53: TABLESAMPLE is not answered in FROM | leave it out
