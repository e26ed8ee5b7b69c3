SELECT SUM(GREATEST(0, score)) AS total FROM prescription;

-- ----
-- refused: 0A000: SUM(GREATEST(0, score)) has no bounds: one person could move it without limit | add WHERE GREATEST(0, score) BETWEEN 0 AND 100, say; or the owner can declare a range for the columns in it
