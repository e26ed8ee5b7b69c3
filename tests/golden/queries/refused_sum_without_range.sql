SELECT SUM(score) FROM prescription;

-- ----
-- refused: 0A000: SUM(score) has no bounds: one person could move it without limit | add WHERE score BETWEEN 0 AND 100, say; or the owner can declare a range for the columns in it
