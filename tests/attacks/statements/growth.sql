--- refused 54001: a text that three replacements make eight million times as long
SELECT COUNT(*) FROM member WHERE LENGTH(REPLACE(REPLACE(REPLACE(card, 'c', '«c|200|»'), 'c', '«c|200|»'), 'c', '«c|200|»')) > 5
--- refused 54001: a text that doubles in each of twenty subqueries
SELECT COUNT(*) FROM («SELECT id, CONCAT(card, card) AS card FROM (|20|»SELECT id, card FROM member«) AS t|20|») AS t WHERE LENGTH(card) > 5
--- refused 54001: the same by names
WITH a AS (SELECT id, CONCAT(card, card, card, card) AS c FROM member), b AS (SELECT id, CONCAT(c, c, c, c) AS c FROM a), d AS (SELECT id, CONCAT(c, c, c, c) AS c FROM b), e AS (SELECT id, CONCAT(c, c, c, c) AS c FROM d), f AS (SELECT id, CONCAT(c, c, c, c) AS c FROM e) SELECT COUNT(*) FROM f WHERE LENGTH(c) > 5
--- refused 54001: the same by one person's longest text
SELECT COUNT(*) FROM («SELECT id, MAX(REPEAT(t, 30)) AS t FROM (|3|»SELECT id, card AS t FROM member«) AS t GROUP BY id|3|») AS t WHERE t > 'x'
--- refused 54001: the same by the row before
SELECT COUNT(*) FROM («SELECT id, LAG(CONCAT(t, t, t, t)) OVER (PARTITION BY id ORDER BY id) AS t FROM (|6|»SELECT id, card AS t FROM member«) AS t|6|») AS t WHERE t > 'x'
--- refused 54001: the same by UNION ALL
WITH a AS (SELECT id, REPEAT(card, 40) AS c FROM member UNION ALL SELECT id, card FROM member), b AS (SELECT id, REPEAT(c, 40) AS c FROM a) SELECT COUNT(*) FROM b WHERE LENGTH(c) > 5
--- refused 54001: the same as a key
SELECT card, COUNT(*) FROM («SELECT id, CONCAT(card, '-', card) AS card FROM (|12|»SELECT id, card FROM member«) AS t|12|») AS t GROUP BY card
--- refused 54001: the same as what is distinct
SELECT COUNT(DISTINCT card) FROM («SELECT id, CONCAT(card, '-', card) AS card FROM (|12|»SELECT id, card FROM member«) AS t|12|») AS t
--- refused 54001: long separators, many times
SELECT COUNT(*) FROM member WHERE CONCAT_WS(REPEAT(card, 100)«, card|20|») > 'x'
--- refused 54001: a text that is long for nobody's sake
SELECT COUNT(*) FROM member WHERE LENGTH(REPEAT(REPEAT(REPEAT('x', 100), 100), 100)) > 5
--- refused 54001: padding, repeated
SELECT COUNT(*) FROM member WHERE LENGTH(REPEAT(LPAD(card, 1000), 100)) > 5
--- refused 54001: a number that doubles in each of twenty-five subqueries
SELECT COUNT(*) FROM («SELECT id, code + code AS code FROM (|25|»SELECT id, code FROM member«) AS t|25|») AS t WHERE code > 5
--- refused 54001: a sum of it
SELECT SUM(wealth) FROM («SELECT id, wealth + wealth AS wealth FROM (|25|»SELECT id, wealth FROM member«) AS t|25|») AS t
--- refused 54001: a choice that triples
SELECT COUNT(*) FROM («SELECT id, CASE WHEN code < 9 THEN code + code END AS code FROM (|14|»SELECT id, code FROM member«) AS t|14|») AS t WHERE code > 5
--- refused 54001: two conditions of it
SELECT COUNT(*) FILTER (WHERE active), COUNT(*) FILTER (WHERE NOT active) FROM («SELECT id, active = active AS active FROM (|25|»SELECT id, active FROM member«) AS t|25|») AS t
--- refused 54001: a median of it
SELECT MEDIAN(score) FROM («SELECT id, score + score AS score FROM (|25|»SELECT id, score FROM member«) AS t|25|») AS t
--- refused 54001: groups of it
SELECT score, COUNT(*) FROM («SELECT id, score + score AS score FROM (|25|»SELECT id, score FROM member«) AS t|25|») AS t GROUP BY score
--- refused 54001: distinct values of it
SELECT COUNT(DISTINCT code) FROM («SELECT id, code + code AS code FROM (|25|»SELECT id, code FROM member«) AS t|25|») AS t
--- refused 54001: each person's most of it
SELECT AVG(m) FROM (SELECT id, MAX(score) AS m FROM («SELECT id, score + score AS score FROM (|25|»SELECT id, score FROM member«) AS t|25|») AS t GROUP BY id) AS t
--- refused 54001: pushed down through groups
SELECT COUNT(*) FROM («SELECT id, code + code AS code FROM (|25|»SELECT id, code FROM member«) AS t GROUP BY id, code|25|») AS t WHERE code > 5
--- refused 54001: inside of EXISTS
SELECT COUNT(*) FROM member AS m WHERE EXISTS (SELECT 1 FROM («SELECT member_id, days + days AS days FROM (|25|»SELECT member_id, days FROM loan«) AS t|25|») AS t WHERE t.member_id = m.id AND days > 5)
--- charged: a text that may be a thousand times as long
SELECT COUNT(*) FROM loan WHERE LENGTH(REPLACE(REPEAT(title, 50), 'x', '«x|20|»')) > 5
--- charged: a long text with itself
SELECT COUNT(*) FROM loan WHERE title || title > 'x'
--- charged: NULL or not
SELECT COUNT(*) FROM loan WHERE title || '' IS NULL
--- charged: how long it is
SELECT SUM(LENGTH(CONCAT(title, kind))) FROM loan WHERE LENGTH(CONCAT(title, kind)) BETWEEN 0 AND 50
--- charged: in another case, trimmed, turned round
SELECT COUNT(*) FROM loan WHERE LOWER(TRIM(REVERSE(title))) ILIKE '%X' AND UPPER(title) ~ 'X+'
--- charged: a key made of it
SELECT kind || ' ' || title AS k, COUNT(*) FROM loan GROUP BY k
--- charged: distinct texts that are long
SELECT COUNT(DISTINCT title), COUNT(DISTINCT (kind, title)) FROM loan
--- charged: numbers and dates of it
SELECT COUNT(title::int), COUNT(title::date), COUNT(title::double precision), COUNT(title::boolean) FROM loan
--- charged: padded and split
SELECT COUNT(*) FROM loan WHERE LPAD(title, 1000, 'ab') || SPLIT_PART(title, 'y', 2) > 'x'
