SELECT ANY_VALUE(diagnosis) FROM patient

-- ----
-- refused: 0A000 at 8: ANY_VALUE is not answered over people | it would be somebody's value; GROUP BY x names the values there are, MEDIAN(x) one in the middle
