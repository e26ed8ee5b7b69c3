-- When do visits begin, and how many of them end with three loans or more?
-- Visits are numbered by a running sum of their first loans; then each is one row, and a member's first 20 are counted.
WITH loans AS (
    SELECT member_id, taken,
           CASE WHEN EXTRACT(EPOCH FROM taken - LAG(taken) OVER (PARTITION BY member_id ORDER BY taken)) <= 1800
                THEN 0 ELSE 1 END AS is_first
    FROM loan
), numbered AS (
    SELECT member_id, taken, SUM(is_first) OVER (PARTITION BY member_id ORDER BY taken) AS visit FROM loans
), visits AS (
    SELECT member_id, MIN(taken) AS begins, COUNT(*) AS loans FROM numbered GROUP BY member_id, visit
), few AS (
    SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY begins) <= 20
)
SELECT EXTRACT(HOUR FROM begins) AS hour, COUNT(*) AS visits, COUNT(*) FILTER (WHERE loans >= 3) AS of_three_loans
FROM few
WHERE EXTRACT(HOUR FROM begins) BETWEEN 8 AND 20
GROUP BY 1
ORDER BY 1
