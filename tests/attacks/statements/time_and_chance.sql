--- refused: a sleep for one person
SELECT COUNT(*) FROM member WHERE id = 7777 AND pg_sleep(10) IS NOT NULL
--- refused: a sleep inside of CASE
SELECT SUM(CASE WHEN score > 100 THEN pg_sleep(4) ELSE 0 END) FROM member
--- refused; wire free refused fails: a sleep by itself; over the wire the shadow decides
SELECT pg_sleep(0.01)
--- refused: a slow series for one person
SELECT COUNT(*) FROM member WHERE id = 7777 AND (SELECT COUNT(*) FROM generate_series(1, 100000000)) > 0
--- refused: a lock on what others need
SELECT COUNT(*) FROM member WHERE pg_advisory_lock(id) IS NOT NULL
--- refused: chance decides who is counted
SELECT COUNT(*) FROM member WHERE random() < 0.5
--- refused: chance as a key
SELECT floor(random() * 3), COUNT(*) FROM member GROUP BY 1
--- refused: chance in an order
SELECT COUNT(*) FROM member ORDER BY random()
--- refused: chance above the noise
SELECT COUNT(*) + random() FROM member
--- refused: a seed, so that noise would repeat
SELECT setseed(0.5)
--- refused: a seed beside a count
SELECT setseed(0.5), COUNT(*) FROM member
--- refused: a normal number
SELECT COUNT(*) FROM member WHERE random_normal() > 0
--- refused: a new identifier
SELECT gen_random_uuid(), COUNT(*) FROM member
--- refused: DuckDB's identifier
SELECT uuid(), COUNT(*) FROM member
--- charged: a clock decides who is counted, and it stands still
SELECT COUNT(*) FROM member WHERE seen < now()
--- charged: a clock without parentheses, and it stands still
SELECT COUNT(*) FROM member WHERE born < CURRENT_DATE
--- charged: a clock that would go on inside of a statement stands still
SELECT COUNT(*) FROM member WHERE clock_timestamp() > seen
--- refused: DuckDB's clock
SELECT COUNT(*) FROM member WHERE get_current_timestamp() > seen
--- charged: a clock above the noise does not tell how long it took
SELECT COUNT(*), clock_timestamp() FROM member
--- charged: an age until today, which stands still
SELECT COUNT(*) FROM member WHERE age(born) > INTERVAL '50 years'
--- charged: a literal that means now, and it stands still
SELECT COUNT(*) FROM member WHERE seen < 'now'::timestamp
--- charged: a literal that means today, and it stands still
SELECT COUNT(*) FROM member WHERE born < 'today'
--- charged: a literal that means yesterday, as a date, and it stands still
SELECT COUNT(*) FROM member WHERE born < DATE 'yesterday'
--- refused: a sequence is a clock, and a write
SELECT nextval('x'), COUNT(*) FROM member
--- refused: the transaction's number is a clock
SELECT txid_current(), COUNT(*) FROM member
--- refused: a sample by chance
SELECT COUNT(*) FROM member TABLESAMPLE SYSTEM (50) REPEATABLE (1)
--- refused: DuckDB's sample
SELECT COUNT(*) FROM member USING SAMPLE 10 PERCENT
--- refused: an order by a hash is a sample that one person moves
SELECT COUNT(*) FROM (SELECT * FROM member ORDER BY hash(id) LIMIT 300) AS t
--- refused: who asks
SELECT COUNT(*) FROM member WHERE card = current_user
--- refused: what is set
SELECT COUNT(*) FROM member WHERE card = current_setting('dpsql.epsilon')
