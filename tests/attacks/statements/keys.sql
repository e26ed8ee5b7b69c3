--- charged: a text that one person alone has does not become a group
SELECT card, COUNT(*) FROM member GROUP BY card ORDER BY card
--- charged: nor one by an expression of it
SELECT LEFT(card, 8), COUNT(*) FROM member GROUP BY 1 ORDER BY 1
--- charged: nor reversed
SELECT REVERSE(card) AS r, COUNT(*) FROM member GROUP BY r ORDER BY r
--- charged: nor in upper case
SELECT UPPER(card) AS u, COUNT(*) FROM member GROUP BY u ORDER BY u
--- charged: nor where the person is alone
SELECT card, COUNT(*) FROM member WHERE id = 7777 GROUP BY card
--- charged: nor as a number
SELECT code, COUNT(*) FROM member GROUP BY code ORDER BY code
--- charged: nor of a child table, by many rows of one person
SELECT title, COUNT(*) FROM loan GROUP BY title ORDER BY title
--- charged: nor of a grandchild
SELECT reason, SUM(amount) FROM fine GROUP BY reason ORDER BY reason
--- charged: groups of a declared list, in which the person's own is not
SELECT sex, COUNT(*) FROM member GROUP BY sex ORDER BY sex
--- charged; rows vary: a declared list that the data do not keep to
SELECT kind, COUNT(*) FROM loan GROUP BY kind ORDER BY kind
--- charged: values from a public table that the person's is not in
SELECT branch, COUNT(*) FROM member GROUP BY branch ORDER BY branch
--- charged; rows vary: a date outside of its range is in no group
SELECT EXTRACT(year FROM day) AS y, COUNT(*) FROM loan GROUP BY y ORDER BY y
--- charged; rows vary: nor is its month
SELECT date_trunc('month', day) AS m, COUNT(*) FROM loan GROUP BY m ORDER BY m
--- charged: a number outside of its range is in no group
SELECT score, COUNT(*) FROM member GROUP BY score ORDER BY score
--- charged: tens of a number
SELECT score / 10 AS tens, COUNT(*) FROM member GROUP BY tens ORDER BY tens
--- charged: a CASE whose branch only the person takes
SELECT CASE WHEN score > 100 THEN 'the one' ELSE 'all' END AS who, COUNT(*) FROM member GROUP BY who ORDER BY who
--- charged: a key that is a condition
SELECT id = 7777 AS they, COUNT(*) FROM member GROUP BY they ORDER BY they
--- refused or charged: groups of people
SELECT id, COUNT(*) FROM member GROUP BY id
--- refused or charged: groups of people by another table's key
SELECT member_id, SUM(price) FROM loan GROUP BY member_id
--- charged: the list of a text, under δ
SELECT DISTINCT card FROM member ORDER BY card
--- charged: the list of keys alone
SELECT code FROM member GROUP BY code ORDER BY code
--- charged: the list of two
SELECT DISTINCT card, code FROM member ORDER BY card, code
--- charged: a list of the person alone
SELECT DISTINCT note FROM member WHERE id = 7777
--- free: the list of declared values follows from the policy
SELECT DISTINCT sex FROM member WHERE sex IS NOT NULL ORDER BY sex
--- free: so does every group that there may be, NULL among them
SET dpsql.empty_groups = show
\g
SELECT DISTINCT sex FROM member ORDER BY sex
--- free: so does a list from a public table
SET dpsql.empty_groups = show
\g
SELECT DISTINCT branch FROM member ORDER BY branch
--- charged; rows vary: whether anybody is in the group of NULL does not
SELECT DISTINCT sex FROM member ORDER BY sex
--- charged; rows vary: nor in that of a public table's list
SELECT DISTINCT branch FROM member ORDER BY branch
--- charged: a list with a condition on people is not free
SELECT DISTINCT card FROM member WHERE id = 7777 OR id < 100 ORDER BY card
--- charged; rows vary: NULL is a group as others are, where its noisy number shows somebody
SELECT active, COUNT(*) FROM member GROUP BY active ORDER BY active
--- charged: doubles as keys, with NaN and infinity
SELECT price, COUNT(*) FROM loan GROUP BY price ORDER BY price
--- charged: texts that differ by case or spaces from others
SELECT TRIM(LOWER(title)) AS t, COUNT(*) FROM loan GROUP BY t ORDER BY t
--- charged: keys made of two columns
SELECT card || '/' || note AS k, COUNT(*) FROM member GROUP BY k ORDER BY k
--- charged; rows vary: ROLLUP over what is selected
SELECT card, sex, COUNT(*) FROM member GROUP BY ROLLUP (card, sex) ORDER BY 1, 2; 
--- charged; rows vary: CUBE over what is declared
SELECT sex, branch, COUNT(*) FROM member GROUP BY CUBE (sex, branch) ORDER BY 1, 2
--- charged: grouping sets with an empty one
SELECT card, COUNT(*) FROM member GROUP BY GROUPING SETS ((card), ()) ORDER BY 1
--- refused: too many grouping sets
SELECT COUNT(*) FROM member GROUP BY CUBE («sex|12|, »)
--- refused or charged: keys in another collation are merged
SELECT card COLLATE "C", COUNT(*) FROM member GROUP BY 1
--- refused or charged: a hash of a key is the key to who can guess
SELECT md5(card), COUNT(*) FROM member GROUP BY 1
--- refused: a hash in buckets
SELECT hash(card) % 16, COUNT(*) FROM member GROUP BY 1
--- refused: encoded keys
SELECT encode(card::bytea, 'hex'), COUNT(*) FROM member GROUP BY 1
--- refused: base64 of keys
SELECT to_base64(card::blob), COUNT(*) FROM member GROUP BY 1
--- charged: the letters of a text, one by one
SELECT SUBSTRING(card, 1, 1) AS letter, COUNT(*) FROM member GROUP BY letter ORDER BY letter
--- charged: parts of a text
SELECT SPLIT_PART(card, '-', 2) AS part, COUNT(*) FROM member GROUP BY part ORDER BY part
--- charged: the ASCII code of a letter of the person's text
SELECT ASCII(card) AS c, COUNT(*) FROM member WHERE id = 7777 GROUP BY c
--- charged: the length of the person's text
SELECT LENGTH(card) AS l, COUNT(*) FROM member WHERE id = 7777 GROUP BY l
--- refused: all keys that there are
SELECT *, COUNT(*) FROM member GROUP BY ALL
--- charged: a text that one person alone has is no group of GROUP BY ALL
SELECT card, COUNT(*) FROM member GROUP BY ALL
--- refused: ORDER BY ALL
SELECT card, COUNT(*) FROM member GROUP BY card ORDER BY ALL
--- charged; rows vary: the most frequent keys
SELECT title, COUNT(*) AS n FROM loan GROUP BY title ORDER BY n DESC LIMIT 3
--- refused: a column that is not in the policy
SELECT pin, COUNT(*) FROM member GROUP BY pin
--- refused 42P01: a table that is not in the policy
SELECT COUNT(*) FROM vault
