SELECT SUM(score) FROM prescription;

-- ----
-- refused: 0A000: SUM(score) has no bounds: one person could move it without limit | the owner can declare a range for the columns in it; or narrow it: SUM(GREATEST(0, LEAST(score, 100)))
