SELECT COUNT(DISTINCT drinks) FROM survey;

-- ----
-- refused: 0A000 at 8: distinct values by a column that people randomized themselves are not counted | COUNT(*) and COUNT(DISTINCT the key of the person) are
