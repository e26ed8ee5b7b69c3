SELECT MIN(diagnosis) FROM patient;

-- ----
-- refused: 42804: MIN(diagnosis) needs a number, a date or a timestamp, not a text | GROUP BY it with COUNT(*)
