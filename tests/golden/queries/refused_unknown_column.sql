SELECT AVG(hight_cm) FROM patient;

-- ----
-- refused: 42703 at 12: there is no column 'hight_cm' | did you mean height_cm?
