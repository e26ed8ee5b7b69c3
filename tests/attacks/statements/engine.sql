--- refused: a file as a table
SELECT COUNT(*) FROM '/etc/passwd'
--- refused: a file by a function
SELECT COUNT(*) FROM read_csv('/etc/passwd')
--- refused: the lines of a file
SELECT content FROM read_text('/etc/passwd')
--- refused: the bytes of a file
SELECT content FROM read_blob('library.duckdb')
--- refused: the database file itself
SELECT * FROM 'library.duckdb'
--- refused: files of a folder
SELECT * FROM glob('*')
--- refused: a parquet file elsewhere
SELECT * FROM read_parquet('https://example.com/x.parquet')
--- refused: a file over the network
SELECT COUNT(*) FROM 'https://example.com/x.csv'
--- refused: a file read by PostgreSQL
SELECT pg_read_file('/etc/passwd')
--- refused: a folder listed by PostgreSQL
SELECT * FROM pg_ls_dir('.')
--- refused: a file read into a large object
SELECT lo_import('/etc/passwd')
--- refused: a query in a text
SELECT * FROM query('SELECT * FROM member')
--- refused: a table in a text
SELECT * FROM query_table('member')
--- refused: a query in a text, as XML
SELECT query_to_xml('SELECT * FROM member', true, true, '')
--- refused: a table as XML
SELECT table_to_xml('member', true, true, '')
--- refused: a program for its output
COPY (SELECT COUNT(*) FROM member) TO PROGRAM 'cat'
--- refused: rows into a file
COPY member TO '/tmp/out.csv'
--- refused: rows to the client
COPY member TO STDOUT
--- refused: rows to the client by a query
COPY (SELECT card FROM member) TO STDOUT
--- refused: rows from the client
COPY member FROM STDIN
--- refused: rows of a query to a file
COPY (SELECT card FROM member) TO '/tmp/out.parquet' (FORMAT parquet)
--- refused: the whole database into a folder
EXPORT DATABASE '/tmp/out'
--- refused: a database from a folder
IMPORT DATABASE '/tmp/out'
--- refused: another database
ATTACH 'other.duckdb' AS other
--- refused: the same database, for writing
ATTACH 'library.duckdb' AS again
--- refused: an extension
INSTALL httpfs
--- refused: an extension from a file
LOAD '/tmp/evil.duckdb_extension'
--- refused: a setting of DuckDB
PRAGMA enable_external_access
--- refused: what PRAGMA shows
PRAGMA storage_info('member')
--- refused: a table of rows
CREATE TABLE mine AS SELECT * FROM member
--- refused: a table of the session
CREATE TEMP TABLE mine AS SELECT card FROM member
--- refused: a table by SELECT INTO
SELECT card INTO mine FROM member
--- refused: a view of rows
CREATE VIEW mine AS SELECT * FROM member
--- refused: a function that hides a query
CREATE FUNCTION leak() RETURNS text LANGUAGE sql AS 'SELECT card FROM member LIMIT 1'
--- refused: a macro that hides a query
CREATE MACRO leak() AS (SELECT card FROM member LIMIT 1)
--- refused: a macro with a name that is allowed
CREATE MACRO lower(x) AS (SELECT card FROM member LIMIT 1)
--- refused: one more person
INSERT INTO member (id, card) VALUES (7778, 'x')
--- refused: one fewer
DELETE FROM member WHERE id = 7777
--- refused: one fewer, who is returned
DELETE FROM member WHERE id = 7777 RETURNING card
--- refused: one changed
UPDATE member SET score = 1 WHERE id = 7777
--- refused: a write inside of a query
WITH gone AS (DELETE FROM member RETURNING *) SELECT COUNT(*) FROM gone
--- refused: a write that only looks
MERGE INTO member USING loan ON false WHEN MATCHED THEN DO NOTHING
--- refused: a table that is dropped
DROP TABLE member
--- refused: a table that is emptied
TRUNCATE member
--- refused: a column that is added
ALTER TABLE member ADD COLUMN x INT DEFAULT 1
--- refused: statistics that are made anew
ANALYZE member
--- refused: a table that is vacuumed
VACUUM FULL member
--- refused: a table that is locked
LOCK TABLE member IN ACCESS EXCLUSIVE MODE
--- refused: a right that is given away
GRANT SELECT ON member TO PUBLIC
--- refused: a block of code
DO $$ BEGIN PERFORM 1; END $$
--- refused: a procedure
CALL pragma_database_list()
--- refused: a message to others
NOTIFY member, 'x'
--- refused: a comment that stays
COMMENT ON TABLE member IS 'x'
--- refused: another role
SET ROLE dpsql_owner
--- refused: another user
SET SESSION AUTHORIZATION bob
--- refused; wire refused free: a plan that is run
EXPLAIN ANALYZE SELECT COUNT(*) FROM member
--- refused: the engine's own plan, with its estimates
EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT COUNT(*) FROM member WHERE id = 7777
--- refused: the plan of what is refused
EXPLAIN SELECT * FROM member
--- free: a plan is that of the text
EXPLAIN SELECT card, COUNT(*) FROM member WHERE id = 7777 GROUP BY card
--- free: what a table holds, summarised: what is declared alone
SUMMARIZE member
--- free: columns with what is declared of them
DESCRIBE member
--- refused; wire free: a statement that is prepared, and not run
PREPARE p AS SELECT card FROM member WHERE id = $1
--- refused: a cursor over rows, step by step
BEGIN
\g
DECLARE c CURSOR FOR SELECT card FROM member
--- refused: a fetch of what was refused
FETCH ALL IN c
--- refused; wire refused: another path for names is remembered by the proxy and followed by nobody
SET search_path = vault, public
\g
SELECT COUNT(*) FROM vault
--- refused: another schema of the same name
CREATE SCHEMA member
--- refused: two statements, the second for the first one's price
SELECT 1; SELECT card FROM member
--- refused: a statement behind a comment
SELECT COUNT(*) FROM region; -- ; DROP TABLE member
--- refused: a lost transaction gives nothing back, and nothing else is in it
BEGIN
\g
SELECT COUNT(*) FROM member WHERE score > 98
\g
ROLLBACK
\g
SELECT card FROM member
--- charged: settings of the engine are the session's own words and nothing more
SET threads = 64
\g
SET memory_limit = '1TB'
\g
SET enable_external_access = on
\g
SELECT COUNT(*) FROM member
--- charged: so is a time zone that moves dates over midnight
SET timezone = 'Pacific/Kiritimati'
\g
SELECT COUNT(*) FROM member WHERE seen >= '2021-06-16'
--- charged: a message level that would echo more
SET client_min_messages = debug5
\g
SET log_statement = 'all'
\g
SELECT COUNT(*) FROM loan
--- refused: a profile of the last query
SET enable_profiling = 'json'
\g
SELECT * FROM pragma_last_profiling_output()
