-- Two people in one row.
SELECT COUNT(*) FROM patient a JOIN patient b ON a.region = b.region;

-- ----
-- refused: 0A000: a and b are joined, but not by the same person | add the condition a.id = b.id
