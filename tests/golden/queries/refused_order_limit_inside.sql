SELECT AVG(height_cm) FROM (SELECT height_cm FROM patient ORDER BY height_cm DESC LIMIT 1) AS t;

-- ----
-- refused: 42501: LIMIT over rows of people would pick people | aggregate first, e.g. COUNT(*) with GROUP BY; LIMIT over the aggregates is answered, and so are aggregates over the first rows in an order that is never NULL: WHERE x IS NOT NULL ORDER BY x DESC LIMIT 100
