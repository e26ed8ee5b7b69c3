SELECT AVG(x) FROM (SELECT CASE WHEN drinks = 'yes' THEN 1 ELSE 0 END AS x FROM survey LIMIT 10) AS t;

-- ----
-- refused: 0A000 at 38: drinks was randomized by the people themselves, and this use of it cannot be freed of that | ask for COUNT, SUM or AVG with GROUP BY drinks, WHERE drinks = … or FILTER (WHERE drinks = …); CASE over its values goes above such a query
