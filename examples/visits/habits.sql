-- What do members borrow first, and how many of them borrow something else in the end?
WITH ends AS (
    SELECT member_id,
           FIRST_VALUE(kind) OVER (PARTITION BY member_id ORDER BY taken) AS first_kind,
           LAST_VALUE(kind) OVER (PARTITION BY member_id ORDER BY taken
                                  ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS last_kind,
           ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY taken) AS number
    FROM loan
)
SELECT first_kind, COUNT(*) AS members, 100.0 * COUNT(*) FILTER (WHERE last_kind <> first_kind) / COUNT(*) AS percent_other
FROM ends
WHERE number = 1
GROUP BY first_kind
ORDER BY first_kind
