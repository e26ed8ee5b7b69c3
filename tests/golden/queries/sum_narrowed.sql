-- GREATEST and LEAST give a range where none was declared.
SELECT SUM(GREATEST(0, LEAST(score, 100))) AS total FROM prescription;

-- ----
-- refused: 0A000: SUM(GREATEST(0, LEAST(score, 100))) has no bounds: one person could move it without limit | the owner can declare a range for the columns in it; or narrow it: SUM(GREATEST(0, LEAST(GREATEST(0, LEAST(score, 100, 100)))
