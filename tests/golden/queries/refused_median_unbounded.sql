SELECT MEDIAN(score) FROM prescription;

-- ----
-- refused: 0A000: MEDIAN(score) has no bounds: it is picked from a known range | the owner can declare a range for the column; of numbers, WHERE x BETWEEN 0 AND 100 will do
