--- refused 54001: parentheses without end
SELECT COUNT(*) FROM member WHERE «(|5000|»1«)|5000|» = 1
--- refused 54001: NOT without end
SELECT COUNT(*) FROM member WHERE «NOT |5000|»TRUE
--- refused 54001: minus without end
SELECT COUNT(*) FROM member WHERE score > «- |5000|»1
--- refused or charged; slow: a sum of a thousand
SELECT COUNT(*) FROM member WHERE score > «1|1000| + »
--- refused 54001; slow: a sum of ten thousand
SELECT COUNT(*) FROM member WHERE score > «1|10000| + »
--- refused or charged: a chain of OR
SELECT COUNT(*) FROM member WHERE «id = 7777|800| OR »
--- refused 54001: a list of 20000
SELECT COUNT(*) FROM member WHERE id IN («7777|20000|, »)
--- refused or charged; slow: a list of 4000
SELECT COUNT(*) FROM member WHERE id IN («7777|4000|, »)
--- refused or charged; slow: a list of texts
SELECT COUNT(*) FROM member WHERE card IN («'card 1'|2000|, »)
--- refused 54001: a literal of a million letters
SELECT COUNT(*) FROM member WHERE card = '«x|1000000|»'
--- refused or charged: a literal of fifty thousand
SELECT COUNT(*) FROM member WHERE card = '«x|50000|»'
--- refused 54001: a name of a million letters
SELECT COUNT(*) AS «n|1000000|» FROM member
--- refused or charged: a name of ten thousand
SELECT COUNT(*) AS «n|10000|» FROM member
--- refused: a number of fifty thousand digits
SELECT COUNT(*) FROM member WHERE score < «9|50000|»
--- refused 54001: subqueries without end
SELECT COUNT(*) FROM «(SELECT * FROM |100|»member«) AS t|100|»
--- refused or charged; slow: thirty subqueries
SELECT COUNT(*) FROM «(SELECT * FROM |30|»member«) AS t|30|»
--- refused: CASE in CASE
SELECT COUNT(*) FROM member WHERE «CASE WHEN active THEN 1 ELSE |200|»0«  END|200|» = 1
--- refused or charged: twenty names, each twice the one before
WITH a AS (SELECT COUNT(*) AS n FROM member), b AS (SELECT x.n FROM a AS x, a AS y), c AS (SELECT x.n FROM b AS x, b AS y), d AS (SELECT x.n FROM c AS x, c AS y), e AS (SELECT x.n FROM d AS x, d AS y), f AS (SELECT x.n FROM e AS x, e AS y), g AS (SELECT x.n FROM f AS x, f AS y) SELECT COUNT(*) FROM g
--- refused: names that double over people
WITH a AS (SELECT * FROM member), b AS (SELECT * FROM a UNION ALL SELECT * FROM a), c AS (SELECT * FROM b UNION ALL SELECT * FROM b), d AS (SELECT * FROM c UNION ALL SELECT * FROM c), e AS (SELECT * FROM d UNION ALL SELECT * FROM d), f AS (SELECT * FROM e UNION ALL SELECT * FROM e), g AS (SELECT * FROM f UNION ALL SELECT * FROM f), h AS (SELECT * FROM g UNION ALL SELECT * FROM g), i AS (SELECT * FROM h UNION ALL SELECT * FROM h), j AS (SELECT * FROM i UNION ALL SELECT * FROM i), k AS (SELECT * FROM j UNION ALL SELECT * FROM j), l AS (SELECT * FROM k UNION ALL SELECT * FROM k), m AS (SELECT * FROM l UNION ALL SELECT * FROM l) SELECT COUNT(*) FROM m
--- refused or charged: sums that double in a select's names
SELECT s11 FROM (SELECT COUNT(*) AS s0 FROM member) AS t, LATERAL (SELECT s0 + s0 AS s1) AS a, LATERAL (SELECT s1 + s1 AS s11) AS b
--- refused or charged: conditions, each with a count of its own
SELECT «COUNT(*) FILTER (WHERE score > 5 AND wealth < 7),|60|» COUNT(*) FROM member
--- refused or charged; slow: fifteen conditions, whose combinations are many
SELECT COUNT(*) FILTER (WHERE score > 5), COUNT(*) FILTER (WHERE wealth > 5), COUNT(*) FILTER (WHERE dues > 5), COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FILTER (WHERE active), COUNT(*) FILTER (WHERE card = 'x'), COUNT(*) FILTER (WHERE code > 3), COUNT(*) FILTER (WHERE note = '7'), COUNT(*) FILTER (WHERE branch = 'north'), COUNT(*) FILTER (WHERE born > '1950-01-01'), COUNT(*) FILTER (WHERE seen > '2021-01-01'), COUNT(*) FILTER (WHERE id > 5), COUNT(*) FILTER (WHERE id < 500), COUNT(*) FILTER (WHERE LENGTH(card) = 6), COUNT(*) FILTER (WHERE score < 50) FROM member
--- refused or charged: keys whose combinations are many
SELECT sex, branch, score, EXTRACT(year FROM born) AS y, COUNT(*) FROM member GROUP BY sex, branch, score, y LIMIT 1
--- charged: keys whose combinations are a million million
SELECT score, born, seen, COUNT(*) FROM member GROUP BY 1, 2, 3
--- ended 57014; slow: public tables with each other, twenty times
SELECT COUNT(*) FROM «branch,|20|» branch AS last
--- refused or charged: everybody, 3 to the 12 times
SELECT COUNT(*) FROM member CROSS JOIN branch AS a CROSS JOIN branch AS b CROSS JOIN branch AS c CROSS JOIN branch AS d CROSS JOIN branch AS e CROSS JOIN branch AS f
--- refused or charged: a pattern that backtracks
SELECT COUNT(*) FROM loan WHERE title ~ '^((a+)+)+$'
--- refused or charged: alternatives that overlap
SELECT COUNT(*) FROM loan WHERE title ~ '^(a|a|aa)+$'
--- refused: repetitions of repetitions
SELECT COUNT(*) FROM loan WHERE title ~ '((((a{100}){100}){100}){100})'
--- refused: a reference backwards
SELECT COUNT(*) FROM loan WHERE title ~ '(a*)*\1'
--- refused: a look ahead
SELECT COUNT(*) FROM loan WHERE title ~ '^(?=.*a)(?!.*b)'
--- refused: a pattern of a thousand and more
SELECT COUNT(*) FROM loan WHERE title ~ '«(a?)*|300|»'
--- refused or charged: a LIKE of a thousand percent signs
SELECT COUNT(*) FROM loan WHERE title LIKE '«%a|500|»'
--- refused or charged: SIMILAR TO is a pattern too
SELECT COUNT(*) FROM loan WHERE title SIMILAR TO '(a+)+b'
--- refused or charged: a text made long by each replacement
SELECT COUNT(*) FROM member WHERE LENGTH(REPLACE(REPLACE(REPLACE(card, 'c', '«c|200|»'), 'c', 'x'), 'c', 'y')) > 5
--- refused: a text made long by doubling
SELECT COUNT(*) FROM member WHERE LENGTH(«REPEAT(|20|»card«, 1000)|20|») > 5
--- refused 54001: texts made long above the noise
SELECT REPEAT('x', 1000000000), COUNT(*) FROM member
--- refused: a series above the noise
SELECT * FROM generate_series(1, 1000000000), (SELECT COUNT(*) AS n FROM member) AS t
--- ended 57014; slow: a cross join above the noise that has no end
SET dpsql.empty_groups = show
\g
SELECT COUNT(*) FROM (SELECT day, COUNT(*) AS n FROM loan GROUP BY day) AS t, (SELECT day, COUNT(*) AS n FROM loan GROUP BY day) AS u, (SELECT day, COUNT(*) AS n FROM loan GROUP BY day) AS v, (SELECT day, COUNT(*) AS n FROM loan GROUP BY day) AS w
--- refused or charged; slow: columns without end
SELECT «*,|300|» 1 FROM (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t
--- refused or charged; slow: unions without end
«SELECT COUNT(*) FROM member UNION ALL |200|»SELECT 1
--- refused 54001; slow: commas without end
SELECT «COUNT(*),|6000|» 1 FROM member
--- refused: quotes without end
SELECT COUNT(*) FROM member WHERE card = «'|4999|»
--- refused or charged; slow: quotes that are pairs
SELECT COUNT(*) FROM member WHERE card = «''|5000|»
--- refused 54001: brackets without end
SELECT «[|5000|»1«]|5000|», COUNT(*) FROM member
--- refused: comments that nest
SELECT «/*|10000|»«*/|10000|» card FROM member
--- refused: a name with ten thousand parts
SELECT COUNT(*) FROM a«.a|5000|»
--- refused; slow: casts without end
SELECT COUNT(*) FROM member WHERE score«::int|3000|» > 5
--- refused or charged: AT TIME ZONE without end
SELECT COUNT(*) FROM member WHERE seen« AT TIME ZONE 'UTC'|100|» > '2020-01-01'
--- refused: an interval that is too long
SELECT COUNT(*) FROM member WHERE born + INTERVAL '999999999999 years' > '2020-01-01'
--- refused: a date that is none
SELECT COUNT(*) FROM member WHERE born > DATE '99999999-99-99'
--- refused or charged; postgres refused or charged or ended: sums that double in each subquery
SELECT COUNT(*) FROM «(SELECT id, code + code AS code FROM |25|»member«) AS t|25|» WHERE code > 5
--- refused or charged; slow: keys that double in each subquery
SELECT score, COUNT(*) FROM «(SELECT id, score + score AS score FROM |12|»member«) AS t|12|» GROUP BY score
--- refused or charged: texts that double in a few subqueries
SELECT COUNT(*) FROM «(SELECT id, card || card AS card FROM |8|»member«) AS t|8|» WHERE card = 'x'
--- refused or charged; postgres refused or charged or ended: conditions that double in each subquery
SELECT COUNT(*) FROM «(SELECT id, active AND NOT active OR active AS active FROM |20|»member«) AS t|20|» WHERE active
--- refused or charged: counts that double above the noise
SELECT n FROM «(SELECT n + n AS n FROM |20|»(SELECT COUNT(*) AS n FROM member) AS c«) AS t|20|»
--- refused: an exponent that no memory holds
SELECT COUNT(*) * 1e-999999999 FROM member
--- refused 22003: an exponent that no memory holds, beside people
SELECT COUNT(*) FROM member WHERE wealth > 1e999999999
--- refused 22003: an exponent below all, beside people
SELECT SUM(wealth * 1e-99999999) FROM member
--- refused: an exponent in a text that is cast
SELECT COUNT(*) FROM member WHERE wealth > '1e999999999'::numeric
--- refused or charged: an exponent in a text that is cast to a double
SELECT COUNT(*) FROM member WHERE wealth > '1e-999999999'::double precision
--- refused or charged; slow: keys that double in each of many subqueries
SELECT score, COUNT(*) FROM «(SELECT id, score % 2 + score % 2 AS score FROM |25|»member«) AS t|25|» GROUP BY score
--- refused or charged; slow: keys of a declared list that double
SELECT sex, COUNT(*) FROM «(SELECT id, CASE WHEN sex = 'F' THEN sex WHEN sex = 'M' THEN sex END AS sex FROM |25|»member«) AS t|25|» GROUP BY sex
