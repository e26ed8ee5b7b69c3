SELECT COUNT(*) FROM region r LEFT JOIN patient p ON r.name = p.region;

-- ----
-- refused: 0A000: this outer join keeps rows that belong to nobody | COUNT(*) counts rows of the list that nobody matches: count a column of people, COUNT(v.id)
