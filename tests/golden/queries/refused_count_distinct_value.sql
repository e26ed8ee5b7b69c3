SELECT COUNT(DISTINCT diagnosis) FROM patient;

-- ----
-- refused: 0A000: COUNT(DISTINCT diagnosis) is not answered: one person can add many values | COUNT(DISTINCT key of the person) is answered; or list the groups: SELECT x, COUNT(*) … GROUP BY x
