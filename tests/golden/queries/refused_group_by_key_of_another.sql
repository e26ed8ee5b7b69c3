SELECT r.name, p.diagnosis, COUNT(*) FROM patient AS p JOIN region AS r ON p.region = r.name GROUP BY r.name;

-- ----
-- refused: 42803 at 18: column 'diagnosis' is neither in GROUP BY nor in an aggregate | add diagnosis to GROUP BY, or ask for COUNT, SUM or AVG of it
