-- Of the members who first came in a month, how many come again, month by month?
-- A member is in one cohort, and in at most twelve months of it: that bounds what one of them adds.
WITH first AS (
    SELECT member_id, MIN(taken) AS taken FROM loan GROUP BY member_id
)
SELECT EXTRACT(MONTH FROM first.taken) AS cohort,
       EXTRACT(MONTH FROM loan.taken) - EXTRACT(MONTH FROM first.taken) AS months_later,
       COUNT(DISTINCT loan.member_id) AS members
FROM loan JOIN first ON first.member_id = loan.member_id
WHERE EXTRACT(MONTH FROM loan.taken) - EXTRACT(MONTH FROM first.taken) BETWEEN 0 AND 11
GROUP BY 1, 2
ORDER BY 1, 2
