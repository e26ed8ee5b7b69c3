SELECT AVG(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id ORDER BY day RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW) AS n FROM visit) AS t;

-- ----
-- refused: 42P20: a frame needs a constant whole number | write ROWS 3 PRECEDING
