SELECT COUNT(*) FROM survey AS s JOIN region AS r ON r.name = s.drinks;

-- ----
-- refused: 0A000 at 65: drinks was randomized by the people themselves, and this use of it cannot be freed of that | ask for COUNT, SUM or AVG with GROUP BY drinks, WHERE drinks = … or FILTER (WHERE drinks = …); CASE over its values goes above such a query
