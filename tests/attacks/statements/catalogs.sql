--- free: how many rows a table has, as the planner thinks
SELECT reltuples, relpages FROM pg_class WHERE relname = 'member'
--- free: the commonest values, as the planner thinks
SELECT most_common_vals, histogram_bounds FROM pg_stats WHERE tablename = 'member'
--- refused; wire free refused: the same behind the view
SELECT stavalues1 FROM pg_statistic
--- free: how many rows are alive
SELECT n_live_tup, n_dead_tup, last_analyze FROM pg_stat_user_tables WHERE relname = 'member'
--- free: how large a table is
SELECT pg_relation_size('member'), pg_total_relation_size('member')
--- free: how large the database is
SELECT pg_database_size(current_database()) > 0
--- free; wire refused free: what others ask
SELECT query FROM pg_stat_activity
--- refused; wire refused free: what others asked
SELECT query FROM pg_stat_statements
--- refused; wire refused: passwords
SELECT rolpassword FROM pg_authid
--- refused: tables of DuckDB with their estimated sizes
SELECT table_name, estimated_size FROM duckdb_tables()
--- refused: columns of DuckDB
SELECT * FROM duckdb_columns()
--- refused: settings of DuckDB
SELECT * FROM duckdb_settings()
--- refused: secrets of DuckDB
SELECT * FROM duckdb_secrets()
--- refused: queries of DuckDB
SELECT * FROM duckdb_logs()
--- refused: temporary files of DuckDB
SELECT * FROM duckdb_temporary_files()
--- refused: blocks of a table with the least and greatest value of each
SELECT * FROM pragma_storage_info('member')
--- refused: information on a table
SELECT * FROM pragma_table_info('member')
--- refused: databases with their paths
SELECT * FROM pragma_database_list
--- refused: what SQLite would say
SELECT sql FROM sqlite_master
--- refused: the least and greatest value of a column, from its statistics
SELECT stats(wealth) FROM member
--- refused: the same for one person
SELECT stats(card) FROM member WHERE id = 7777 LIMIT 1
--- refused: the type of what there is
SELECT typeof(card) FROM member
--- refused: the size of a value
SELECT pg_column_size(card) FROM member
--- refused: the alias of a column
SELECT alias(card) FROM member
--- refused: catalogs beside people
SELECT COUNT(*) FROM member, pg_class
--- refused: catalogs in a subquery beside people
SELECT COUNT(*) FROM member WHERE card IN (SELECT relname FROM pg_class)
--- free: columns are the policy's, not the table's
SELECT column_name FROM information_schema.columns WHERE table_name = 'member' AND column_name = 'pin'
--- free: tables are the policy's, not the database's
SELECT table_name FROM information_schema.tables WHERE table_name = 'vault'
--- refused: the same as DuckDB's own
SELECT * FROM main.duckdb_views
--- refused: a table by a schema that is not its own
SELECT COUNT(*) FROM pg_catalog.member
--- refused: a table of the owner's other database
SELECT COUNT(*) FROM other.public.vault
--- refused: a table by DuckDB's name of the file
SELECT COUNT(*) FROM library.main.vault
--- refused: the releases of others, in the sandbox
SELECT * FROM dpsql_0
--- refused: the store of releases
SELECT * FROM dpsql.release
--- refused: the ledger
SELECT * FROM dpsql.ledger
--- free: charges are one's own
SELECT COUNT(*) FROM dpsql.charges WHERE analyst <> 'ana'
--- free: columns of the policy, and no other
SELECT column_name FROM dpsql.columns WHERE table_name = 'member' OR table_name = 'vault' ORDER BY 1
--- refused: a bound beside people is compared with each of them
SELECT COUNT(*) FROM member, dpsql.budget WHERE member.wealth > dpsql.budget.spent_epsilon
