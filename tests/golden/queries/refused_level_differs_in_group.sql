-- A level of detail below the group has several values in it: none of them is the group's.
SELECT p.region, MIN(t.m) FROM patient AS p JOIN (SELECT region, sex, COUNT(*) AS m FROM patient GROUP BY 1, 2) AS t ON p.region = t.region GROUP BY 1;

-- ----
-- refused: 0A000: MIN(m) has no bounds: it is picked from a known range | the owner can declare a range for the column; of numbers, WHERE x BETWEEN 0 AND 100 will do
