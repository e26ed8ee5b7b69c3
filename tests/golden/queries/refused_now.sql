SELECT COUNT(*) FROM visit WHERE day > CURRENT_DATE;

-- ----
-- refused: 0A000 at 34: CURRENT_DATE depends on the time of the query | write the date, as in DATE '2024-12-31'
