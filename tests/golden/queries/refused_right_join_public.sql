SELECT COUNT(*) FROM region r LEFT JOIN patient p ON r.name = p.region;

-- ----
-- refused: 0A000: an outer join keeps rows of r that belong to nobody | use an inner join, or put the table of people on the preserved side
