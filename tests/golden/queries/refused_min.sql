SELECT MIN(height_cm) FROM patient;

-- ----
-- refused: 0A000: MIN is not answered over people | `minmax: declared` in the policy gives the ends of a declared range; or COUNT(*) … WHERE x < limit
