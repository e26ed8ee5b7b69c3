-- How satisfied is each team, and how many of it answered?
SELECT team, COUNT(*) AS answered, AVG(satisfaction) AS satisfaction FROM answers GROUP BY team ORDER BY team;

-- Which part would stay, by team?
SELECT team, AVG(CASE WHEN would_stay = 'yes' THEN 1.0 ELSE 0.0 END) AS would_stay FROM answers GROUP BY team ORDER BY team;

-- Are people who work from home more satisfied?
SELECT remote_days, AVG(satisfaction) AS satisfaction FROM answers GROUP BY remote_days ORDER BY remote_days;

-- Satisfaction by years in the company: a line's slope.
SELECT REGR_SLOPE(satisfaction, years) AS per_year FROM answers;
