-- A visit is a run of loans with less than half an hour between one and the next.
-- Which visits are there, and how long do they take? First loans of a visit are counted, so nothing is said of one loan.
WITH loans AS (
    SELECT member_id, taken, EXTRACT(EPOCH FROM taken - LAG(taken) OVER (PARTITION BY member_id ORDER BY taken)) / 60 AS pause
    FROM loan
), marked AS (
    SELECT member_id, taken, pause, pause IS NULL OR pause > 30 AS is_first FROM loans
)
SELECT COUNT(*) FILTER (WHERE is_first) AS visits,
       1.0 * COUNT(*) / COUNT(*) FILTER (WHERE is_first) AS loans_per_visit,
       AVG(pause) FILTER (WHERE pause BETWEEN 0 AND 30) AS minutes_between
FROM marked
