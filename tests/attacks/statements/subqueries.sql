--- refused: one value by a scalar subquery
SELECT (SELECT card FROM member WHERE id = 7777)
--- charged: whether a row exists
SELECT EXISTS (SELECT 1 FROM member WHERE id = 7777)
--- charged: whether a row exists, as a condition on a public table
SELECT COUNT(*) FROM branch WHERE EXISTS (SELECT 1 FROM member WHERE id = 7777)
--- charged; rows vary: public rows where a person is
SELECT name FROM branch WHERE name IN (SELECT branch FROM member WHERE id = 7777)
--- charged; rows vary: public rows where no person is
SELECT name FROM branch WHERE name NOT IN (SELECT branch FROM member)
--- refused: one bit times the size of the table
SELECT COUNT(*) FROM member WHERE EXISTS (SELECT 1 FROM member AS other WHERE other.id = 7777)
--- refused: the same by IN
SELECT COUNT(*) FROM member WHERE 7777 IN (SELECT id FROM member)
--- refused: the same by another's column
SELECT COUNT(*) FROM member WHERE score IN (SELECT score FROM member WHERE id = 7777)
--- refused: the same by NOT IN
SELECT COUNT(*) FROM member WHERE card NOT IN (SELECT title FROM loan)
--- refused or charged: the same by comparison
SELECT COUNT(*) FROM member WHERE (SELECT COUNT(*) FROM loan WHERE member_id = 7777) > 0
--- refused: the same inside of an aggregate
SELECT SUM((SELECT score FROM member WHERE id = 7777)) FROM member
--- refused: the same inside of FILTER
SELECT COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM member WHERE id = 7777)) FROM member
--- refused or charged: the same inside of CASE
SELECT SUM(CASE WHEN (SELECT MAX(score) FROM member) > 100 THEN 1 ELSE 0 END) FROM loan
--- refused or charged: a correlated count per branch of all people
SELECT COUNT(*) FROM member AS m WHERE (SELECT COUNT(*) FROM member AS o WHERE o.branch = m.branch) > 200
--- refused: a correlated EXISTS over other people
SELECT COUNT(*) FROM member AS m WHERE EXISTS (SELECT 1 FROM member AS o WHERE o.wealth > m.wealth)
--- refused: no other person like this one
SELECT COUNT(*) FROM member AS m WHERE NOT EXISTS (SELECT 1 FROM member AS o WHERE o.card = m.card AND o.id <> m.id)
--- charged: EXISTS over the same person's rows
SELECT COUNT(*) FROM member AS m WHERE EXISTS (SELECT 1 FROM loan AS l WHERE l.member_id = m.id AND l.price > 100)
--- charged: IN over the same person's rows
SELECT COUNT(*) FROM member WHERE id IN (SELECT member_id FROM loan WHERE kind = 'atlas')
--- refused or charged: the public side counts private rows by a correlated subquery
SELECT name, (SELECT COUNT(*) FROM member WHERE branch = name) FROM branch
--- refused: lateral rows
SELECT COUNT(*) FROM member AS m, LATERAL (SELECT * FROM loan AS l WHERE l.price > m.wealth) AS x
--- refused: people on one side, counts of all people on the other
SELECT COUNT(*) FROM member JOIN (SELECT MAX(wealth) AS w FROM member) AS t ON member.wealth = t.w
--- charged: a count of one release beside another's
SELECT (SELECT COUNT(*) FROM member) AS members, (SELECT COUNT(*) FROM loan) AS loans
--- charged: a subquery about people in ORDER BY of a public table
SELECT name FROM branch ORDER BY (SELECT MAX(card) FROM member)
--- refused: a subquery about people in LIMIT of a public table
SELECT name FROM branch LIMIT (SELECT score FROM member WHERE id = 7777)
--- charged: people counted in LIMIT's place is refused, a join of counts is not
SELECT branch.name, t.n FROM branch LEFT JOIN (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t ON t.branch = branch.name ORDER BY 1
--- refused: two values where one is meant
SELECT COUNT(*) FROM member WHERE score = (SELECT desks FROM branch WHERE name = member.branch)
--- refused: a subquery with more than one row fails only if there are more
SELECT COUNT(*) FROM member WHERE score = (SELECT score FROM member)
--- charged: per person, then over people, clipped
SELECT SUM(n) FROM (SELECT member_id, COUNT(*) AS n FROM loan GROUP BY member_id) AS each WHERE n <= 60
--- refused or charged: the greatest of each person, then the greatest
SELECT MAX(w) FROM (SELECT member_id, MAX(price) AS w FROM loan GROUP BY member_id) AS each
--- refused: aggregation by a key of several persons, in between
SELECT COUNT(*) FROM (SELECT branch, MAX(wealth) AS w FROM member GROUP BY branch) AS t JOIN member ON member.wealth = t.w
--- charged: aggregates of released groups
SELECT MAX(n), MIN(n), COUNT(*) FROM (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t
--- refused: an array of a subquery
SELECT ARRAY(SELECT card FROM member)
--- refused: all rows compared with all rows
SELECT (SELECT COUNT(*) FROM member) = ALL (SELECT score FROM member)
--- charged: a row comparison with people
SELECT ('x', 1) IN (SELECT card, score FROM member)
--- charged: a subquery in VALUES
SELECT * FROM (VALUES ((SELECT MAX(card) FROM member))) AS t (x)
--- refused: a subquery in a window's bound
SELECT branch, SUM(COUNT(*)) OVER (ORDER BY branch ROWS (SELECT score FROM member WHERE id = 7777) PRECEDING) FROM member GROUP BY branch
