--- refused: everybody's number in an order
SELECT rank() OVER (ORDER BY wealth DESC) FROM member
--- refused: a neighbour's value
SELECT lag(card) OVER (ORDER BY wealth) FROM member
--- refused: the first value of all
SELECT COUNT(*) FROM (SELECT first_value(score) OVER (ORDER BY wealth DESC) AS s FROM member) AS t WHERE s > 100
--- refused: a window over all people, summed
SELECT SUM(n) FROM (SELECT COUNT(*) OVER () AS n FROM member) AS t
--- refused: a window over groups of people
SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY branch) AS n FROM member) AS t
--- refused: a window whose partition is not the person's
SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY card ORDER BY id) AS n FROM member) AS t WHERE n = 2
--- refused: a window whose frame excludes the row itself
SELECT SUM(s) FROM (SELECT SUM(score) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS s FROM member) AS t
--- refused: a named window
SELECT SUM(r) FROM (SELECT rank() OVER w AS r FROM member WINDOW w AS (ORDER BY wealth)) AS t
--- refused: a window in WHERE
SELECT COUNT(*) FROM member WHERE row_number() OVER () = 1
--- refused: a window of a private column beside a group
SELECT branch, COUNT(*), rank() OVER (ORDER BY card) FROM member GROUP BY branch
--- refused: a window as a key
SELECT ntile(2) OVER (ORDER BY wealth), COUNT(*) FROM member GROUP BY 1
--- refused: a window inside of an aggregate
SELECT SUM(rank() OVER (ORDER BY wealth)) FROM member
--- refused: a window of a window
SELECT MAX(rank() OVER (ORDER BY SUM(wealth))) OVER () FROM member GROUP BY id
--- charged: ranks of released groups
SELECT branch, COUNT(*), rank() OVER (ORDER BY COUNT(*) DESC) FROM member GROUP BY branch ORDER BY branch
--- charged: shares of released groups
SELECT branch, COUNT(*) * 1.0 / NULLIF(SUM(COUNT(*)) OVER (), 0) FROM member GROUP BY branch ORDER BY branch
--- charged: a neighbour among released groups
SELECT kind, lag(SUM(price)) OVER (ORDER BY kind) FROM loan GROUP BY kind ORDER BY kind
--- refused or charged: a window of each person's own rows
SELECT SUM(n) FROM (SELECT row_number() OVER (PARTITION BY member_id ORDER BY day) AS n FROM loan) AS t WHERE n <= 3
--- refused: a frame of private length
SELECT kind, SUM(COUNT(*)) OVER (ORDER BY kind ROWS days PRECEDING) FROM loan GROUP BY kind
