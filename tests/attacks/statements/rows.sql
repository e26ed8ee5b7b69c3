--- refused 42501: every row as it is
SELECT * FROM member
--- refused 42501: one person's row
SELECT * FROM member WHERE id = 7777
--- refused 42501: one cell of one person
SELECT card FROM member WHERE id = 7777
--- free: the first row in the order of a private value
SELECT code FROM member ORDER BY wealth DESC LIMIT 1
--- free: rows hidden under a wrapper of a BI tool
SELECT * FROM (SELECT * FROM member) AS virtual_table LIMIT 1001
--- free: no row, but the columns' lengths and types might follow the data
SELECT * FROM member LIMIT 0
--- refused; wire free: no row, by a condition that is false by its letters
SELECT card FROM member WHERE 1 = 0
--- refused 42501: rows joined with public ones
SELECT branch.city, member.card FROM member JOIN branch ON branch.name = member.branch
--- refused 42501: rows by way of a CTE
WITH everybody AS (SELECT * FROM member) SELECT card FROM everybody
--- refused 42501: rows of a child table
SELECT title FROM loan WHERE member_id = 7777
--- refused: a whole row as one value
SELECT member FROM member
--- refused: a whole row, serialised
SELECT ROW(card, code) FROM member
--- refused: a whole row as JSON
SELECT row_to_json(member) FROM member
--- refused: a whole row as text
SELECT member::text FROM member
--- refused: TABLE is SELECT * in other clothes; the wire rewrites it
TABLE member
--- refused: FROM first, as DuckDB allows
FROM member
--- refused: FROM first with a SELECT after it
FROM member SELECT card
--- refused: a row number is no aggregate
SELECT row_number() OVER () FROM member
--- refused: distinct rows on something
SELECT DISTINCT ON (branch) card FROM member
--- refused: all rows, then all rows again
SELECT card FROM member UNION ALL SELECT title FROM loan
--- refused: rows of people below a set operation with constants
SELECT card FROM member UNION SELECT 'x'
--- refused: rows that are not constants
SELECT card FROM member EXCEPT SELECT 'x'
--- refused: rows that are constants
SELECT card FROM member INTERSECT SELECT 'card 1'
--- free: one row by OFFSET
SELECT card FROM member ORDER BY id OFFSET 599 ROWS FETCH FIRST 1 ROW ONLY
--- free: rows with ties
SELECT card FROM member ORDER BY wealth DESC FETCH FIRST 1 ROW WITH TIES
--- refused: rows for update
SELECT card FROM member FOR UPDATE
--- refused: a sample of rows
SELECT card FROM member TABLESAMPLE BERNOULLI (100)
--- refused: a column list without its name
SELECT COLUMNS('ca.*') FROM member
--- refused: all columns but some
SELECT * EXCLUDE (id) FROM member
--- refused: all columns with one replaced
SELECT * REPLACE ('x' AS sex) FROM member
--- refused: the physical place of a row
SELECT ctid, COUNT(*) FROM member GROUP BY ctid
--- refused: the physical place of a row in DuckDB
SELECT rowid FROM member
--- refused: a positional join makes rows of columns
SELECT * FROM member POSITIONAL JOIN branch
--- refused: values of a member in VALUES
VALUES ((SELECT card FROM member WHERE id = 7777))
--- refused: rows unnested
SELECT unnest(ARRAY[card, note]) FROM member
--- refused 42501: rows of which only a constant is shown tell how many there are
SELECT 1 FROM member
--- refused: the same with a condition on one person
SELECT 1 FROM member WHERE id = 7777 AND score > 100
