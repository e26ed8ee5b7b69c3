SELECT UPPER(drinks), COUNT(*) FROM survey GROUP BY 1;

-- ----
-- refused: 0A000 at 14: drinks was randomized by the people themselves, and this use of it cannot be freed of that | ask for COUNT, SUM or AVG with GROUP BY drinks, WHERE drinks = … or FILTER (WHERE drinks = …); CASE over its values goes above such a query
