SELECT COUNT(*) FROM patient AS p FULL JOIN region AS r ON p.region = r.name;

-- ----
-- refused: 0A000: a FULL JOIN keeps rows of r that belong to nobody | use LEFT JOIN, with the people on the left
