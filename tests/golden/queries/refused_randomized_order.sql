SELECT COUNT(*) FROM (SELECT patient_id, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY drinks) AS r FROM survey) AS x WHERE r = 1;

-- ----
-- refused: 0A000 at 94: drinks was randomized by the people themselves, and this use of it cannot be freed of that | ask for COUNT, SUM or AVG with GROUP BY drinks, WHERE drinks = … or FILTER (WHERE drinks = …); CASE over its values goes above such a query
