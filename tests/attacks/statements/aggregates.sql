--- refused or charged: the greatest value is one person's
SELECT MAX(wealth) FROM member
--- refused or charged: the least one too
SELECT MIN(dues) FROM member
--- charged: the greatest text that enough people have, where nothing is declared
SELECT MAX(card) FROM member
--- refused: the greatest number without a range
SELECT MAX(code) FROM member
--- refused: the value at the greatest other one
SELECT max_by(card, wealth) FROM member
--- refused: the same by its other name
SELECT arg_max(card, wealth) FROM member
--- refused: any value is somebody's
SELECT any_value(card) FROM member
--- refused: the first one too
SELECT first(card) FROM member
--- refused: the last one in an order
SELECT last(card ORDER BY wealth) FROM member
--- refused: all values in one text
SELECT string_agg(card, ',') FROM member
--- refused: all values of one person's group
SELECT branch, string_agg(DISTINCT card, ',' ORDER BY card) FROM member GROUP BY branch
--- refused: all values in an array
SELECT array_agg(card) FROM member
--- refused: a list, as DuckDB calls it
SELECT list(code) FROM member
--- refused: a histogram of values
SELECT histogram(card) FROM member
--- refused: values as JSON
SELECT json_agg(card) FROM member
--- refused: values as JSON with keys
SELECT json_object_agg(id, card) FROM member
--- refused: values as XML
SELECT xmlagg(xmlelement(name x, card)) FROM member
--- refused or charged: the commonest value is a value
SELECT mode() WITHIN GROUP (ORDER BY card) FROM member
--- refused or charged: MODE as DuckDB spells it
SELECT mode(card) FROM member
--- refused or charged: the middle value is one person's
SELECT median(wealth) FROM member
--- refused or charged: so is every quantile
SELECT percentile_cont(0.999) WITHIN GROUP (ORDER BY wealth) FROM member
--- refused or charged: a discrete one is surely a value
SELECT percentile_disc(1) WITHIN GROUP (ORDER BY dues) FROM member
--- refused: quantiles of texts
SELECT percentile_disc(1) WITHIN GROUP (ORDER BY card) FROM member
--- refused or charged: a list of quantiles
SELECT percentile_cont(ARRAY[0.0, 0.5, 1.0]) WITHIN GROUP (ORDER BY wealth) FROM member
--- refused or charged: an approximate quantile by t-digest holds centroids of values
SELECT approx_quantile(wealth, 0.99) FROM member
--- refused or charged: a sketch is a function of who is there
SELECT approx_count_distinct(card) FROM member
--- refused: the commonest values
SELECT approx_top_k(card, 3) FROM member
--- refused or charged: how many values there are
SELECT COUNT(DISTINCT card) FROM member
--- refused or charged: how many pairs
SELECT COUNT(DISTINCT (card, code)) FROM member
--- refused or charged: the spread is unbounded where no range is declared
SELECT stddev(code) FROM member
--- refused or charged: the spread of a declared range
SELECT stddev(wealth), variance(dues), var_pop(score) FROM member
--- refused or charged: third and fourth moments weigh the worst person most
SELECT skewness(wealth), kurtosis(wealth) FROM member
--- refused or charged: how two values go together
SELECT corr(wealth, dues), covar_pop(wealth, score) FROM member
--- refused or charged: a line through people
SELECT regr_slope(wealth, score), regr_intercept(wealth, score) FROM member
--- refused or charged: whether anybody is so
SELECT bool_or(id = 7777) FROM member
--- refused or charged: whether all are so
SELECT bool_and(score <= 100) FROM member
--- refused or charged: EVERY is bool_and
SELECT every(score <= 100) FROM member
--- refused: bits of everybody
SELECT bit_or(code) FROM member
--- refused: bits of all but one cancel out
SELECT bit_xor(code) FROM member
--- refused: a product is a sum without a bound
SELECT product(wealth) FROM member
--- refused: entropy depends on every group
SELECT entropy(card) FROM member
--- refused: a checksum tells every change
SELECT bit_xor(hash(card)) FROM member
--- refused: a checksum by md5
SELECT md5(string_agg(card, '' ORDER BY id)) FROM member
--- refused: a sum of texts
SELECT SUM(card) FROM member
--- refused: a sum without a bound
SELECT SUM(code) FROM member
--- refused: a mean without a bound
SELECT AVG(code) FROM member
--- refused: a sum of a hash reads one person's bits
SELECT SUM(hashtext(card)) FROM member
--- refused or charged: a sum of different values
SELECT SUM(DISTINCT score) FROM member
--- charged: a sum over one person is of that person, and of nobody on D′
SELECT SUM(wealth) FROM member WHERE id = 7777
--- charged: a mean over one person stays in its range, whoever is there
SELECT AVG(wealth) FROM member WHERE id = 7777
--- charged: whether one person is there, as a count
SELECT COUNT(*) FROM member WHERE id = 7777
--- charged: the person's rows beyond the declared number
SELECT COUNT(*), SUM(price), AVG(days) FROM loan WHERE member_id = 7777
--- charged: the fines of the person, two tables away
SELECT SUM(amount) FROM fine WHERE loan_id >= 700000
--- charged: values beyond the range do not weigh more than its end
SELECT SUM(score), SUM(wealth), SUM(dues), AVG(score) FROM member
--- charged: counts of NULLs and of values
SELECT COUNT(card), COUNT(sex), COUNT(*) FROM member
--- charged: the number of people among rows
SELECT COUNT(DISTINCT member_id) FROM loan
--- charged: a weight that grows with the value, bounded by the range
SELECT SUM(wealth * wealth) FROM member
--- charged: a weight that only one person has
SELECT SUM(CASE WHEN id = 7777 THEN 1000 ELSE 0 END) FROM member
--- refused: an aggregate inside of an aggregate
SELECT SUM(COUNT(*)) FROM member
--- refused: ordered aggregation of rows
SELECT SUM(wealth ORDER BY id) FROM member
--- refused: a hypothetical rank tells who is below
SELECT rank(500) WITHIN GROUP (ORDER BY wealth) FROM member
--- charged: the share of people below a value, which is a mean
SELECT percent_rank(500) WITHIN GROUP (ORDER BY wealth) FROM member
--- refused: the rank of somebody's own value
SELECT percent_rank(wealth) WITHIN GROUP (ORDER BY wealth) FROM member
--- charged: an aggregate by its schema, where it is one of ours
SELECT pg_catalog.max(card) FROM member
--- refused: DuckDB's by its schema
SELECT main.string_agg(card, '') FROM member
--- refused: a reservoir of rows
SELECT reservoir_quantile(wealth, 0.5) FROM member
--- refused: aggregation by a function's name
SELECT list_aggregate(list(card), 'max') FROM member
--- refused: aggregation by a lambda
SELECT list_reduce(list(card), (x, y) -> x || y) FROM member
