SELECT setseed(0.5);

-- ----
-- refused: 42883: there is no function setseed | use the common functions of PostgreSQL
