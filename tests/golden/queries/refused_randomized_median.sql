SELECT s.drinks, MEDIAN(p.height_cm) FROM survey AS s JOIN patient AS p ON p.id = s.patient_id GROUP BY s.drinks;

-- ----
-- refused: 0A000 at 18: MEDIAN(height_cm) of people by drinks, which they randomized themselves, is not answered | COUNT, SUM and AVG add up over people, and are answered by drinks: SELECT drinks, COUNT(*), AVG(x) … GROUP BY drinks, or with FILTER (WHERE drinks = …)
