--- refused or charged: a division by what is 0 for nobody but the person
SELECT SUM(1 / (score - 50)) FROM member
--- charged: a division by 0 where the person is
SELECT COUNT(*) FROM member WHERE 1 / (id - 7777) > 0
--- refused or charged: the same inside of CASE
SELECT SUM(CASE WHEN id = 7777 THEN 1 / (id - 7777) ELSE 1 END) FROM member
--- charged: a division by a constant 0, which PostgreSQL folds
SELECT COUNT(*) FROM member WHERE CASE WHEN id = 7777 THEN 1 / 0 ELSE 1 END = 1
--- charged: a remainder of 0
SELECT COUNT(*) FROM member WHERE 5 % (id - 7777) = 0
--- refused or charged: a text that is no number
SELECT SUM(CAST(note AS INTEGER)) FROM member WHERE id = 7777
--- charged: a text that is no date
SELECT COUNT(*) FROM member WHERE CAST(card AS DATE) > '2020-01-01'
--- refused or charged: a text that is no truth value
SELECT COUNT(*) FROM member WHERE CAST(card AS BOOLEAN)
--- refused or charged: a text that is no timestamp
SELECT COUNT(*) FROM member WHERE CAST(title AS TIMESTAMP) > '2020-01-01'
--- refused or charged: a text that is no interval
SELECT COUNT(*) FROM member WHERE born + CAST(note AS INTERVAL) > '2000-01-01'
--- refused: a text that is no UUID
SELECT COUNT(*) FROM member WHERE CAST(card AS UUID) IS NOT NULL
--- refused: a text that is no JSON
SELECT COUNT(*) FROM member WHERE CAST(card AS JSON) IS NOT NULL
--- refused: a path in JSON
SELECT COUNT(*) FROM member WHERE note -> 'a' = '1'
--- refused: a path in JSON by a function
SELECT COUNT(*) FROM member WHERE json_extract_path_text(note, 'a') = '1'
--- refused: a text that is no address
SELECT COUNT(*) FROM member WHERE CAST(card AS INET) IS NOT NULL
--- refused: a text that is no bytes
SELECT COUNT(*) FROM member WHERE decode(card, 'hex') IS NOT NULL
--- refused: a cast to the name of a table fails with the text in it
SELECT COUNT(*) FROM member WHERE CAST(card AS regclass) IS NOT NULL
--- refused or charged: a number too large for its type
SELECT SUM(CAST(code AS INTEGER)) FROM member WHERE code < 100
--- charged: a small integer
SELECT COUNT(*) FROM member WHERE CAST(score AS SMALLINT) > 5
--- charged: a sum too large for its type
SELECT COUNT(*) FROM member WHERE score + score + score > 5
--- charged: a product too large for its type
SELECT COUNT(*) FROM member WHERE code * code * code > 0
--- charged: the least integer, negated
SELECT COUNT(*) FROM loan WHERE -days > 0 AND ABS(days) > 0
--- charged: a double too large for a decimal
SELECT COUNT(*) FROM loan WHERE CAST(price AS NUMERIC(5, 2)) > 1
--- charged: NaN as an integer
SELECT SUM(CAST(price AS INTEGER)) FROM loan WHERE price < 50
--- charged: a root of a negative number
SELECT SUM(SQRT(100 - score)) FROM member
--- refused or charged: a logarithm of nothing
SELECT SUM(LN(wealth)) FROM member WHERE wealth > 1
--- charged: a logarithm of a negative number
SELECT COUNT(*) FROM member WHERE LN(100 - score) > 0
--- charged: a power that is infinite
SELECT COUNT(*) FROM member WHERE POWER(wealth, 100000) > 1
--- charged: a power of a negative number
SELECT COUNT(*) FROM member WHERE POWER(-score, 0.5) > 1
--- charged: an exponential that is infinite
SELECT COUNT(*) FROM member WHERE EXP(wealth) > 1
--- charged: an arcsine of more than 1
SELECT COUNT(*) FROM member WHERE ASIN(wealth) > 0
--- refused or charged: a tangent of infinity
SELECT COUNT(*) FROM loan WHERE TAN(price) > 0
--- charged; rows vary: a bucket between ends
SELECT WIDTH_BUCKET(wealth, 0, 1000, 4) AS b, COUNT(*) FROM member GROUP BY b ORDER BY b
--- refused: a bucket between equal ends
SELECT WIDTH_BUCKET(wealth, 5, 5, 4) AS b, COUNT(*) FROM member GROUP BY b
--- refused or charged: a bucket between ends that are people's
SELECT COUNT(*) FROM member WHERE WIDTH_BUCKET(wealth, score, score, 4) = 1
--- refused or charged: a factorial of a person's number
SELECT SUM(factorial(score)) FROM member
--- charged: a substring of negative length
SELECT COUNT(*) FROM member WHERE SUBSTRING(card, 1, 100 - score) = 'c'
--- charged: a substring from before the start
SELECT COUNT(*) FROM member WHERE SUBSTRING(card FROM 100 - score FOR 2) = 'c'
--- charged: the left of a text by a private number
SELECT COUNT(*) FROM member WHERE LEFT(card, score) = 'c'
--- refused: part 0 of a text, for one
SELECT COUNT(*) FROM member WHERE SPLIT_PART(card, '-', id - 7777) = 'x'
--- refused: a text repeated by a private number
SELECT COUNT(*) FROM member WHERE REPEAT(card, score) = 'c'
--- refused: a text filled up to a private number
SELECT COUNT(*) FROM member WHERE LPAD(card, score) = 'c'
--- refused or charged: a character by a private number
SELECT COUNT(*) FROM member WHERE CHR(score) = 'c'
--- refused: a pattern from a private text
SELECT COUNT(*) FROM loan WHERE title ~ title
--- refused or charged: a LIKE pattern from a private text that ends in an escape
SELECT COUNT(*) FROM loan WHERE 'x' LIKE title || '\'
--- refused: a private escape
SELECT COUNT(*) FROM loan WHERE kind LIKE 'a%' ESCAPE title
--- refused: an invalid pattern
SELECT COUNT(*) FROM loan WHERE title ~ '(('
--- refused: a pattern with options
SELECT COUNT(*) FROM loan WHERE regexp_matches(title, 'a', 'q')
--- refused or charged: a date from private parts, which may not be one
SELECT COUNT(*) FROM member WHERE make_timestamp(score, score, 1, 1, 1, 1) IS NOT NULL
--- charged: a date from parts
SELECT COUNT(*) FROM member WHERE MAKE_DATE(score, 2, 30) IS NOT NULL
--- charged: a date beyond all dates
SELECT COUNT(*) FROM loan WHERE day + days > '2024-06-01'
--- charged: a day in infinity
SELECT COUNT(*) FROM loan WHERE day + INTERVAL '1 year' > '2024-06-01'
--- charged: the year of infinity
SELECT COUNT(*) FROM loan WHERE EXTRACT(year FROM day) > 2023
--- charged: the epoch of infinity
SELECT COUNT(*) FROM member WHERE EXTRACT(epoch FROM seen) > 0
--- charged: the month of infinity
SELECT COUNT(*) FROM member WHERE date_trunc('month', seen) > '2021-01-01'
--- charged: between dates that have no difference
SELECT COUNT(*) FROM loan WHERE day - DATE '2024-01-01' > 10
--- refused or charged: an age without end
SELECT COUNT(*) FROM member WHERE age(seen, born) > INTERVAL '1 year'
--- refused: a time zone from a private text
SELECT COUNT(*) FROM member WHERE seen AT TIME ZONE note IS NOT NULL
--- refused: a format from a private text
SELECT COUNT(*) FROM member WHERE to_char(seen, card) = 'x'
--- refused or charged: a date by a format
SELECT COUNT(*) FROM member WHERE to_date(card, 'YYYY') IS NOT NULL
--- refused: a unit from a private text
SELECT COUNT(*) FROM member WHERE date_trunc(note, seen) IS NOT NULL
--- refused: DuckDB's way to raise
SELECT error(card) FROM member
--- refused: the same in a condition
SELECT COUNT(*) FROM member WHERE CASE WHEN id = 7777 THEN error('found') ELSE TRUE END
--- refused: an array's element beyond its end
SELECT COUNT(*) FROM member WHERE (ARRAY[1, 2])[score] = 1
--- refused: a slice of a text
SELECT COUNT(*) FROM member WHERE card[1:2] = 'ca'
--- refused: a cast that names its error
SELECT COUNT(*) FROM member WHERE card::NUMERIC(2, 1)::TEXT::DATE::INTEGER > 1
--- refused: a check by a subquery with two rows
SELECT COUNT(*) FROM member WHERE score = (SELECT days FROM loan WHERE loan.member_id = member.id)
--- charged: all of them, ended by one count
SELECT COUNT(*), SUM(wealth) FROM member WHERE 1 / NULLIF(score, 0) >= 0 OR CAST(note AS INTEGER) > 3 OR SQRT(-wealth) = 0
--- refused 42703: a column that is not in the policy is unknown, with its name
SELECT COUNT(*) FROM member WHERE pin = '0000'
--- refused 42703: the hint for a name names declared ones
SELECT COUNT(*) FROM member WHERE crad = 'x'
--- refused 42883: a comparison of types
SELECT COUNT(*) FROM member WHERE card > 5
