SELECT VARIANCE(diagnosis) FROM patient;

-- ----
-- refused: 42883 at 8: VARIANCE needs a number, not a text | COUNT(*) with GROUP BY counts each of them; or cast them, as in x::integer
