SELECT MEDIAN(diagnosis) FROM patient;

-- ----
-- refused: 42883: MEDIAN(diagnosis) needs a number, a date or a timestamp, not a text | GROUP BY it with COUNT(*)
