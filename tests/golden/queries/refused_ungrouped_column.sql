SELECT sex, diagnosis, COUNT(*) FROM patient GROUP BY sex;

-- ----
-- refused: 42803 at 13: column 'diagnosis' is neither in GROUP BY nor in an aggregate | add diagnosis to GROUP BY, or ask for COUNT, SUM or AVG of it
