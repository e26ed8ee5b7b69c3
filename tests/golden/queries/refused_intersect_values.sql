SELECT COUNT(*) FROM (SELECT reason FROM visit INTERSECT SELECT diagnosis FROM patient) AS t;

-- ----
-- refused: 0A000: INTERSECT compares rows of people with each other | select the key of the person on both sides, or SELECT DISTINCT on each side to compare groups
