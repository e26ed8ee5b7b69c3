SELECT COUNT(DISTINCT drinks) FROM survey;

-- ----
-- refused: 0A000: COUNT(DISTINCT 'yes') by a column that people randomized themselves is not answered | COUNT(*) and COUNT(DISTINCT the key of the person) are
