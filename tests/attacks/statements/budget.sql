--- refused 22023: a price below nothing
SET dpsql.epsilon = -1
--- refused 22023: nothing
SET dpsql.epsilon = 0
--- refused 22023: less than nothing, barely
SET dpsql.epsilon = '-1e-300'
--- refused 22023: no number
SET dpsql.epsilon = 'NaN'
--- refused 22023: without end
SET dpsql.epsilon = 'Infinity'
--- refused 22023: above the owner's cap
SET dpsql.epsilon = 8.0000000001
--- refused 22023: a number with more digits than a ledger has
SET dpsql.epsilon = '1e-13'
--- refused 22023: so small that a float is 0
SET dpsql.epsilon = '5e-324'
--- refused 22023: a fraction that is long
SET dpsql.epsilon = '1/3000000000000000000000000000'
--- refused 22023: a fraction by 0
SET dpsql.epsilon = '1/0'
--- refused 22023: a number as long as the text allows
SET dpsql.epsilon = '0.«1|5000|»'
--- refused 22023: an exponent that would take for ever
SET dpsql.epsilon = '1e999999999'
--- refused: a setting that would take the noise away
SET dpsql.noise = off
--- refused: a seed
SET dpsql.seed = 1
--- refused: another analyst
SET dpsql.analyst = 'bob'
--- refused: the owner's delta
SET dpsql.delta = 0.5
--- refused: the owner's bounds
SET dpsql.max_rows = 1
--- refused: a price in the statement
SELECT /*+ epsilon(1000) */ COUNT(*) FROM member WITH EPSILON 1000
--- charged: a hint is a comment
SELECT /*+ no_noise */ COUNT(*) FROM member
--- refused 22023: an error target that has no price
SET dpsql.target_error = '-5'
--- refused 22023: an error of nothing
SET dpsql.target_error = 0
--- charged: an error of one person's count above the cap
SET dpsql.target_error = 0.0000001
\g
SELECT COUNT(*) FROM member WHERE id = 7777
--- charged: raw measurements
SET dpsql.consistent = off
\g
SELECT sex, COUNT(*) FROM member GROUP BY ROLLUP (sex) ORDER BY 1
--- charged: error bars are those of the noise, and of nothing else
SET dpsql.intervals = on
\g
SELECT branch, COUNT(*), AVG(wealth) FROM member WHERE id = 7777 GROUP BY branch ORDER BY branch
--- charged: an empty selection costs as much as a full one
SELECT COUNT(*) FROM member WHERE FALSE
--- charged: so does one that the text alone makes empty
SELECT COUNT(*) FROM member WHERE id = 7777 AND id = 7778
--- charged: so does one with a limit of nothing above
SELECT COUNT(*) FROM member OFFSET 1
--- charged; wire free: so does one of which no row is wanted
SELECT COUNT(*) FROM member LIMIT 0
--- charged: branches of a CASE that are never taken are paid for
SELECT CASE WHEN FALSE THEN (SELECT COUNT(*) FROM member) ELSE 0 END
--- charged: so is a CTE that nobody reads, or it is not measured
SELECT COUNT(*) FROM member WHERE score >= 0 AND score < 0
--- free or charged: nothing, or all, is measured for a CTE that nobody reads
WITH unread AS (SELECT COUNT(*) AS n FROM member) SELECT 1 AS one
--- reused: the same release again is the same answer
SET dpsql.reuse = on
\g
SELECT COUNT(*) FROM member WHERE score > 55
\g
SELECT COUNT(*) FROM member WHERE score > 55
--- charged: the same question again, at a price again
SELECT COUNT(*) FROM member WHERE score > 56
\g
SELECT COUNT(*) FROM member WHERE score > 56
--- charged: differencing: all people but the one
SELECT COUNT(*) FROM member
\g
SELECT COUNT(*) FROM member WHERE card <> 'card 0' AND card <> 'card 1'
--- charged: differencing of sums
SELECT SUM(wealth) FROM member
\g
SELECT SUM(wealth) FROM member WHERE id <> 7777
--- charged: the same expression spelt otherwise
SELECT COUNT(*) FROM member WHERE 1 = 1
\g
SELECT COUNT(*) FROM member WHERE 2 = 2 AND NOT FALSE
--- refused: savepoints do not take a charge back
SAVEPOINT before; SELECT COUNT(*) FROM member; ROLLBACK TO before
