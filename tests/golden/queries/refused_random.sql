SELECT COUNT(*) FROM patient WHERE random() < 0.5;

-- ----
-- refused: 0A000 at 36: RANDOM() is random: its value is not a function of the row | use columns and constants
