SELECT SUM(diagnosis) FROM patient;

-- ----
-- refused: 42804: SUM needs a number, not a text | cast it
