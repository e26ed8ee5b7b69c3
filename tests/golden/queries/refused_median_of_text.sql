SELECT MIN(diagnosis) FROM patient;

-- ----
-- refused: 42883: MIN(diagnosis) needs a number, a date or a timestamp, not a text | GROUP BY it with COUNT(*)
