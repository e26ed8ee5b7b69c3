SELECT id, COUNT(*) FROM patient GROUP BY id;

-- ----
-- refused: 42501 at 8: this query returns rows of people | each group is one person: ask over all, as in SELECT AVG(n) FROM (SELECT …, COUNT(*) AS n FROM … GROUP BY …) AS t, or with GROUP BY n for how many people have so many rows
