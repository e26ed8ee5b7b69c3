--- refused; wire refused or free: a comment inside of a comment hides nothing
SELECT /* /* */ card /* */ FROM member
--- refused: a comment that ends early
SELECT card /* x */ -- */
FROM member
--- refused: a comment in a word
SEL/**/ECT card FROM member
--- refused; wire refused or charged: a comment to the end without an end
SELECT COUNT(*) FROM member /* where
--- refused: a dollar quote
SELECT $$x$$, card FROM member
--- refused: a dollar quote without an end
SELECT $a$ card FROM member
--- refused: NUL in the text
SELECT card FROM «U+0000»member
--- refused: NUL in a literal
SELECT COUNT(*) FROM member WHERE card = 'x«U+0000»y'
--- refused: a name in full-width letters
SELECT ｃａｒｄ FROM member
--- refused: a table's name in full-width letters
SELECT COUNT(*) FROM ｍｅｍｂｅｒ
--- refused: a long s, whose upper case is S
SELECT COUNT(*) FROM member WHERE ſcore > 1
--- refused or charged: a Kelvin sign, whose lower case is k
SELECT COUNT(*) FROM loan WHERE «U+212A»ind = 'book'
--- refused: a dotted capital I
SELECT COUNT(*) FROM member WHERE «U+0130»d = 7777
--- refused: a space of no width in a name
SELECT ca«U+200B»rd FROM member
--- refused: a word that runs from right to left
SELECT COUNT(*) FROM «U+202E»rebmem
--- refused or charged: a no-break space between words
SELECT«U+00A0»COUNT(*)«U+00A0»FROM«U+00A0»member
--- refused or charged: a mark of byte order
«U+FEFF»SELECT COUNT(*) FROM member
--- refused: escapes in a name
SELECT U&"c\0061rd" FROM member
--- refused: escapes in a table's name
SELECT COUNT(*) FROM U&"v\0061ult"
--- refused: escapes in a text
SELECT card FROM member WHERE card = E'\x27 OR 1=1 --'
--- charged: a quote in a text stays in it
SELECT COUNT(*) FROM member WHERE card = ''' OR ''1''=''1'
--- charged: a backslash in a text is a backslash
SELECT COUNT(*) FROM member WHERE card = '\' OR note = ' OR 1=1 --'
--- charged: a semicolon in a text ends nothing
SELECT COUNT(*) FROM member WHERE card = '; DROP TABLE member; --'
--- charged: a text in two lines is one text
SELECT COUNT(*) FROM member WHERE card = 'a'
'b'
--- refused or charged: a name with a quote in it
SELECT COUNT(*) AS "x"" FROM vault; --" FROM member
--- refused or charged: a column's alias that closes its quote
SELECT COUNT(*) AS "n"") FROM vault --" FROM member
--- refused: a name with a dot in it
SELECT COUNT(*) FROM "public.vault"
--- refused: a name in upper case, quoted
SELECT COUNT(*) FROM "MEMBER"
--- charged: a name in upper case
SELECT COUNT(*) FROM MEMBER WHERE SCORE > 5
--- refused: a CTE that takes a table's name
WITH member AS (SELECT * FROM vault) SELECT COUNT(*) FROM member
--- free: a CTE that takes a table's name, and is about it
WITH member AS (SELECT 1 AS id, 'x' AS card) SELECT card FROM member
--- refused: a CTE that takes a catalog's name
WITH pg_class AS (SELECT card FROM member) SELECT * FROM pg_class
--- refused: a CTE inside of a CTE that takes a table's name
WITH t AS (WITH vault AS (SELECT * FROM member) SELECT * FROM vault) SELECT card FROM t
--- refused: a CTE with the name of one of our tables
WITH dpsql_0 AS (SELECT card FROM member) SELECT * FROM dpsql_0
--- refused or charged: an alias with the name of one of our columns
SELECT COUNT(*) AS k0, COUNT(*) AS o0, COUNT(*) AS dpsql_row FROM member AS dpsql_0
--- charged: an alias with the name of another table
SELECT COUNT(*) FROM member AS vault
--- refused: an alias that hides a column that is not in the policy
SELECT COUNT(*) FROM member AS m (a, b, c, d, e, f, g, h, i, j, k, l, pin)
--- refused; wire refused or ended: a recursion
WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) FROM t
--- refused: a recursion over people
WITH RECURSIVE t (id) AS (SELECT id FROM member UNION SELECT loan.member_id FROM loan JOIN t ON t.id = loan.member_id) SELECT COUNT(*) FROM t
--- refused: a parameter without a value
SELECT COUNT(*) FROM member WHERE id = $1
--- refused: a parameter of psql
SELECT COUNT(*) FROM member WHERE id = :id
--- refused: a variable
SELECT COUNT(*) FROM member WHERE id = @id
--- refused: a template
SELECT COUNT(*) FROM member WHERE id = {{ id }}
--- refused: a name in braces
SELECT COUNT(*) FROM IDENTIFIER('vault')
--- refused: a name in brackets
SELECT [card] FROM [member]
--- refused: a name in backticks
SELECT `card` FROM `member`
--- refused: a number with a name in it
SELECT COUNT(*) FROM member WHERE score > 1_000
--- refused: a number in hex
SELECT COUNT(*) FROM member WHERE score > 0x10
--- refused or charged: bits as a number
SELECT COUNT(*) FROM member WHERE score > B'1010'::int
--- refused: an operator of another's schema
SELECT COUNT(*) FROM member WHERE score OPERATOR(pg_catalog.>) 5
--- refused: an operator that nobody knows
SELECT COUNT(*) FROM member WHERE card @@ 'x'
--- refused: a function by its quoted name
SELECT "pg_read_file"('/etc/passwd'), COUNT(*) FROM member
--- refused: a function by a schema
SELECT pg_catalog.pg_sleep(1), COUNT(*) FROM member
--- refused: a function by a method
SELECT card.upper(), COUNT(*) FROM member GROUP BY 1
--- refused or charged: a function by an ODBC escape
SELECT {fn count(card)} FROM member
--- refused: a struct
SELECT {'a': card}, COUNT(*) FROM member GROUP BY 1
--- refused: a lambda
SELECT COUNT(*) FROM member WHERE list_filter([1], x -> card = 'x') IS NOT NULL
--- refused: a pivot makes columns of values
PIVOT member ON card USING COUNT(*)
--- refused: a pivot in FROM makes columns of values
SELECT * FROM member PIVOT (COUNT(*) FOR card IN ('card 1'))
--- refused: MATCH_RECOGNIZE reads rows
SELECT * FROM member MATCH_RECOGNIZE (ORDER BY id MEASURES FIRST(card) AS c PATTERN (A) DEFINE A AS TRUE)
--- refused: a table as XML
SELECT * FROM XMLTABLE('/x' PASSING (SELECT card FROM member) COLUMNS a text)
--- refused: a table at a time
SELECT COUNT(*) FROM member FOR SYSTEM_TIME AS OF '2020-01-01'
--- refused: a table's children only
SELECT COUNT(*) FROM ONLY (vault)
--- refused: words in an order that another dialect knows
SELECT TOP 5 card FROM member
--- refused: a GROUP BY with a modifier
SELECT COUNT(*) FROM member GROUP BY branch WITH ROLLUP WITH CUBE
--- refused; wire free: an empty statement
;
--- refused; wire free: only a comment
-- SELECT COUNT(*) FROM member
--- refused: words without sense
)(*&^%$#@!
--- refused 42601; wire refused 22021: an unpaired surrogate is not Unicode
SELECT COUNT(*) FROM member WHERE card = '«U+D800»'
