WITH patient AS (SELECT 1 AS x) SELECT COUNT(*) FROM patient;

-- ----
-- refused: 42712: WITH patient hides the table of that name | choose another name
