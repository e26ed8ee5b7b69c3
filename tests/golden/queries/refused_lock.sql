SELECT COUNT(*) FROM patient FOR UPDATE;

-- ----
-- refused: 0A000: FOR UPDATE is not answered in a SELECT over people | leave it out
