SELECT COUNT(*) FROM patient WHERE height_cm = (SELECT AVG(height_cm) FROM patient);

-- ----
-- refused: 0A000: people's values are asked to equal a released number, which has noise | compare with >= or <=, or ask for values near it: x BETWEEN 0.99 * (…) AND 1.01 * (…)
