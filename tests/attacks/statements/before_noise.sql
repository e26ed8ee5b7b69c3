--- charged; rows vary: HAVING is about noisy counts
SELECT kind, COUNT(*) FROM loan GROUP BY kind HAVING COUNT(*) > 600
--- charged; rows vary: HAVING of what is not shown
SELECT branch FROM member GROUP BY branch HAVING SUM(wealth) > 48000
--- charged; rows vary: a threshold at one person's own value
SELECT kind FROM loan GROUP BY kind HAVING SUM(price) > 14700.5 ORDER BY kind
--- charged: the order of groups is that of released numbers
SELECT branch, COUNT(*) FROM member GROUP BY branch ORDER BY COUNT(*) DESC
--- charged: the order of groups by what is not shown
SELECT branch FROM member GROUP BY branch ORDER BY SUM(dues)
--- charged: the first of the groups
SELECT branch, COUNT(*) FROM member GROUP BY branch ORDER BY 2 DESC LIMIT 1
--- charged; rows vary: the number of groups by a subquery about people
SELECT branch, COUNT(*) FROM member GROUP BY branch LIMIT (SELECT COUNT(*) FROM member WHERE id = 7777)
--- refused or charged; rows vary: the number of groups to leave out by such a subquery
SELECT branch, COUNT(*) FROM member GROUP BY branch OFFSET (SELECT MAX(score) FROM member)
--- refused or charged: rows before they are counted, the 100 with most
SELECT COUNT(*) FROM (SELECT * FROM member ORDER BY wealth DESC LIMIT 100) AS top
--- refused: rows before they are counted, any 100 of them
SELECT SUM(wealth) FROM (SELECT * FROM member LIMIT 100) AS some
--- charged; rows vary: different rows before they are counted, under δ
SELECT COUNT(*) FROM (SELECT DISTINCT card, code FROM member) AS different
--- charged; rows vary: the same by GROUP BY
SELECT COUNT(*) FROM (SELECT card FROM member GROUP BY card) AS different
--- charged: groups with exactly one person, counted, among those that δ lets pass
SELECT COUNT(*) FROM (SELECT card, COUNT(*) AS n FROM member GROUP BY card HAVING COUNT(*) = 1) AS single
--- refused: QUALIFY is HAVING for windows
SELECT card FROM member QUALIFY row_number() OVER (ORDER BY wealth DESC) = 1
--- refused: QUALIFY above a group
SELECT branch, COUNT(*) FROM member GROUP BY branch QUALIFY rank() OVER (ORDER BY MAX(wealth)) = 1
--- refused or charged: a condition that compares people with all people
SELECT COUNT(*) FROM member WHERE wealth > (SELECT AVG(wealth) FROM member)
--- refused: those who are the richest
SELECT COUNT(*) FROM member WHERE wealth >= ALL (SELECT wealth FROM member)
--- refused or charged: those above the least of one person
SELECT COUNT(*) FROM member WHERE wealth > ANY (SELECT wealth FROM member WHERE id = 7777)
--- refused: HAVING about a value that is no aggregate
SELECT branch, COUNT(*) FROM member GROUP BY branch HAVING card = 'x'
--- refused or charged; rows vary: HAVING with an aggregate that tells one person
SELECT branch, COUNT(*) FROM member GROUP BY branch HAVING bool_or(id = 7777)
--- refused: an order by an aggregate that is refused
SELECT branch, COUNT(*) FROM member GROUP BY branch ORDER BY string_agg(card, '')
--- refused: an order by a private column
SELECT COUNT(*) FROM member ORDER BY card
--- charged: the one who is the group, by FILTER
SELECT COUNT(*) FILTER (WHERE id = 7777), COUNT(*) FILTER (WHERE id <> 7777) FROM member
--- charged: two counts whose difference is one person
SELECT (SELECT COUNT(*) FROM member) - (SELECT COUNT(*) FROM member WHERE id <> 7777)
--- charged: conditions that only the person meets, many times
SELECT «COUNT(*) FILTER (WHERE score > 100)|20|, », COUNT(*) FROM member
--- charged: arithmetic that blows noise away if there is none
SELECT COUNT(*) * 1000000000 FROM member WHERE id = 7777
--- charged: a comparison of a count, as one bit
SELECT COUNT(*) > 600 FROM member
--- charged: a division by what may be 0 of nobody
SELECT SUM(wealth) / NULLIF(COUNT(*), 0) FROM member WHERE id = 7777
--- charged: a running sum over public groups
SELECT kind, SUM(COUNT(*)) OVER (ORDER BY kind) FROM loan GROUP BY kind ORDER BY kind
--- charged: the same as a wrapper with a limit
SELECT * FROM (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t WHERE n > 0 LIMIT 1000
--- charged; rows vary: a filter above, in a wrapper
SELECT * FROM (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t WHERE n >= 201
--- refused: OFFSET before aggregation
SELECT SUM(score) FROM (SELECT score FROM member OFFSET 600) AS last_one
--- refused: a prefix of rows by a running number
SELECT COUNT(*) FROM (SELECT row_number() OVER (ORDER BY wealth DESC) AS n, score FROM member) AS t WHERE n = 1 AND score > 100
--- refused: tiles of people
SELECT tile, COUNT(*) FROM (SELECT ntile(4) OVER (ORDER BY wealth) AS tile FROM member) AS t GROUP BY tile
