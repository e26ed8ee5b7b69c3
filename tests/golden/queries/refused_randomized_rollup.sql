SELECT drinks, COUNT(*) FROM survey GROUP BY ROLLUP (drinks);

-- ----
-- refused: 0A000: grouping sets over drinks, which people randomized themselves, are not answered | GROUP BY drinks alone, and ask for the total beside it
