-- How many days pass between the first visit and the second, by branch?
-- QUALIFY keeps one row of each member, so a member counts once, however many loans there are.
WITH days AS (
    SELECT DISTINCT member_id, CAST(taken AS DATE) AS day FROM loan
), returns AS (
    SELECT member_id, day - LAG(day) OVER (PARTITION BY member_id ORDER BY day) AS gap
    FROM days
    QUALIFY ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY day) = 2
)
SELECT branch, COUNT(*) AS members, AVG(gap) AS days
FROM returns JOIN member ON member.id = returns.member_id
WHERE gap BETWEEN 0 AND 365
GROUP BY branch
ORDER BY branch
