SELECT VARIANCE(diagnosis) FROM patient;

-- ----
-- refused: 42804: VARIANCE needs a number, not a text | cast it
