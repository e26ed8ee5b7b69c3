--- refused or charged: the least doubles are on no lattice
SELECT SUM(price * 5e-324) FROM loan
--- refused or charged: the greatest ones
SELECT SUM(price * 1e308) FROM loan
--- refused or charged: the greatest ones, twice
SELECT SUM(wealth * 1e308 * 1e308) FROM member
--- refused or charged: NaN is moved to nowhere
SELECT SUM(CASE WHEN id = 7777 THEN 'NaN'::double precision ELSE 0 END) FROM member
--- charged: NaN by arithmetic
SELECT SUM(price - price) FROM loan
--- charged: infinity less infinity
SELECT COUNT(*) FROM loan WHERE price - price <> 0
--- charged: NaN is greater than all
SELECT COUNT(*) FROM loan WHERE price > 1e300
--- charged: NaN is equal to itself
SELECT COUNT(*) FROM loan WHERE price = price
--- refused or charged: infinity as a literal
SELECT COUNT(*) FROM loan WHERE price = 'Infinity'::double precision
--- charged: minus zero
SELECT COUNT(*) FROM loan WHERE price = -0.0 AND 1 / price < 0
--- charged: a sum that cancels but for one person
SELECT SUM(CASE WHEN id % 2 = 0 THEN score ELSE -score END) FROM member
--- charged: bounds that arithmetic turns round
SELECT SUM(-wealth), SUM(1000 - wealth), SUM(wealth * -3) FROM member
--- charged: an inverse near 0
SELECT SUM(1 / (wealth + 0.001)) FROM member
--- refused or charged: an inverse at 0 is unbounded
SELECT SUM(1 / wealth) FROM member
--- charged: squares of what may be below 0
SELECT SUM((score - 50) * (score - 50)) FROM member
--- charged: a difference of big numbers
SELECT SUM((wealth + 1e15) - 1e15) FROM member
--- refused or charged: the sixth power
SELECT SUM(score * score * score * score * score * score) FROM member
--- refused or charged: a power beyond integers
SELECT SUM(POWER(score, 30)) FROM member
--- charged: digits that a cast cuts off
SELECT SUM(CAST(wealth AS INTEGER)), SUM(CAST(dues AS INTEGER)) FROM member
--- charged: rounding to places before the point
SELECT SUM(ROUND(wealth, -2)), SUM(TRUNC(wealth)) FROM member
--- refused or charged: rounding to private places
SELECT SUM(ROUND(wealth, score)) FROM member
--- refused or charged: rounding to a thousand places
SELECT SUM(ROUND(dues, 1000)) FROM member
--- charged: the low bits of a number, one sum each
SELECT SUM(CAST(wealth AS INTEGER) % 2), SUM(score % 2) FROM member
--- refused or charged: the digits of a number that one person has
SELECT SUM(CASE WHEN code > 100 THEN code % 10 ELSE 0 END) FROM member
--- charged: a mean of a constant
SELECT AVG(5) FROM member WHERE id = 7777
--- charged: a mean of nobody's values
SELECT AVG(price), SUM(price) FROM loan WHERE id < 0
--- refused or charged: a clamp that GREATEST and LEAST do not make of NULL
SELECT SUM(GREATEST(LEAST(code, 10), 0)) FROM member
--- charged: a clamp by hand, of NaN
SELECT SUM(GREATEST(LEAST(price, 10), 0)) FROM loan
--- charged: a value for NULL
SELECT SUM(COALESCE(score, 100)), SUM(COALESCE(price, 50)) FROM member LEFT JOIN loan ON loan.member_id = member.id
--- refused or charged: a value for NULL that is beyond the range
SELECT SUM(COALESCE(score, 1000000)) FROM member
--- charged: booleans as numbers
SELECT SUM(CASE WHEN active THEN 1 ELSE 0 END), SUM(CAST(active AS INTEGER)) FROM member
--- charged: a decimal at the end of its digits
SELECT SUM(dues * 99999999.99) FROM member
--- refused or charged: decimals beyond 38 digits
SELECT SUM(dues * 99999999999999999999.99 * 99999999999999999999.99) FROM member
--- refused: a literal beyond all numbers
SELECT SUM(wealth * 1e400) FROM member
--- refused or charged: a literal with a thousand digits
SELECT COUNT(*) FROM member WHERE wealth > «9|1000|»
--- charged; rows vary: division above the noise, by what may be 0
SELECT branch, 1 / COUNT(*) FROM member WHERE id = 7777 GROUP BY branch ORDER BY branch
--- charged: an overflow above the noise, which is NULL
SELECT CAST(COUNT(*) * 100000 AS SMALLINT) FROM member
--- charged: an overflow that depends on the sign of noise
SELECT POWER(10, 400) * COUNT(*) FROM member WHERE id = 7777
--- charged: bits of a released number
SELECT COUNT(*) & 1, COUNT(*) % 2 FROM member
