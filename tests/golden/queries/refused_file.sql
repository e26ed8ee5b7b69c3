SELECT * FROM read_csv('/etc/passwd');

-- ----
-- refused: 42P01: a function in FROM is not answered | name a table
