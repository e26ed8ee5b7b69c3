--- refused: everybody with everybody
SELECT COUNT(*) FROM member AS a, member AS b
--- refused: everybody with everybody of the same branch
SELECT COUNT(*) FROM member AS a JOIN member AS b ON a.branch = b.branch
--- refused: one person's wealth beside everybody
SELECT SUM(b.score) FROM member AS a CROSS JOIN member AS b WHERE a.id = 7777
--- refused: loans of other people
SELECT COUNT(*) FROM member JOIN loan ON member.wealth < loan.price
--- refused: keys of different meaning
SELECT COUNT(*) FROM member JOIN loan ON member.id = loan.id
--- refused: an equality that holds for some rows only
SELECT COUNT(*) FROM member JOIN loan ON member.id = loan.member_id OR loan.member_id = 7777
--- refused: an equality below a negation
SELECT COUNT(*) FROM member JOIN loan ON NOT (member.id = loan.member_id)
--- refused: an equality that NULL makes true
SELECT COUNT(*) FROM member JOIN loan ON COALESCE(member.id = loan.member_id, TRUE)
--- refused: an equality inside of CASE
SELECT COUNT(*) FROM member JOIN loan ON CASE WHEN member.id = loan.member_id THEN TRUE ELSE loan.id > 700000 END
--- refused: an equality of expressions
SELECT COUNT(*) FROM member JOIN loan ON member.id + 0 = loan.member_id * 1 + 0 AND member.id % 2 = loan.id % 2
--- refused: an outer join that keeps rows of nobody
SELECT COUNT(*) FROM branch LEFT JOIN member ON member.branch = branch.name
--- refused: the same from the right
SELECT branch.name, COUNT(*) FROM member RIGHT JOIN branch ON member.branch = branch.name GROUP BY 1
--- refused or charged: both sides kept
SELECT COUNT(*) FROM member FULL JOIN loan ON member.id = loan.member_id
--- refused: names decide what is equal
SELECT COUNT(*) FROM member NATURAL JOIN loan
--- refused: USING on a column that is no key of people
SELECT COUNT(*) FROM member JOIN loan USING (id)
--- refused: rows that have a partner
SELECT COUNT(*) FROM branch SEMI JOIN member ON member.branch = branch.name
--- refused: rows that have none
SELECT COUNT(*) FROM branch ANTI JOIN member ON member.branch = branch.name
--- refused: the nearest row
SELECT COUNT(*) FROM member ASOF JOIN loan ON member.born <= loan.day
--- charged: a fan-out by a public table is clipped
SELECT COUNT(*), SUM(wealth) FROM member, branch
--- charged: a fan-out by the public table twice
SELECT COUNT(*) FROM member CROSS JOIN branch AS a CROSS JOIN branch AS b
--- charged: a person's loans with the same person's loans
SELECT COUNT(*) FROM loan AS a JOIN loan AS b ON a.member_id = b.member_id
--- charged: loans along their key
SELECT kind, COUNT(*), SUM(wealth) FROM loan JOIN member ON member.id = loan.member_id GROUP BY kind ORDER BY kind
--- charged; rows vary: fines along two keys, with the person's wild rows
SELECT kind, SUM(amount) FROM fine JOIN loan ON loan.id = fine.loan_id GROUP BY kind ORDER BY kind
--- charged: a public condition that only the person's rows meet
SELECT COUNT(*) FROM member JOIN branch ON member.score > branch.desks * 1000
--- charged: a LEFT JOIN that keeps people
SELECT COUNT(*), COUNT(loan.id) FROM member LEFT JOIN loan ON loan.member_id = member.id
--- refused: a LEFT JOIN whose condition is of the kept side alone
SELECT COUNT(*) FROM member LEFT JOIN loan ON member.id = 7777
--- refused: a comma with a condition in WHERE that OR takes away
SELECT COUNT(*) FROM member, loan WHERE member.id = loan.member_id OR TRUE
--- refused or charged: a join of released groups with rows of people
SELECT COUNT(*) FROM member JOIN (SELECT branch, COUNT(*) AS n FROM member GROUP BY branch) AS t ON t.branch = member.branch WHERE t.n > 200
--- refused: people beside a function's rows
SELECT COUNT(*) FROM member, generate_series(1, 1000000) AS g
--- refused: people beside their own texts, unnested
SELECT COUNT(*) FROM member, unnest(string_to_array(card, '-')) AS u
--- refused: people by the key of a table that is not in the policy
SELECT COUNT(*) FROM member JOIN vault ON vault.owner = member.id
--- refused or charged: a union mixes what belongs to whom
SELECT COUNT(*) FROM (SELECT id FROM member UNION SELECT member_id FROM loan) AS t
--- charged: a union that keeps every row keeps its owner
SELECT COUNT(*) FROM (SELECT id AS who FROM member UNION ALL SELECT member_id FROM loan) AS t
--- refused or charged: people without those of another table
SELECT COUNT(*) FROM (SELECT id FROM member EXCEPT SELECT member_id FROM loan) AS t
--- charged: what both have
SELECT COUNT(*) FROM (SELECT card FROM member INTERSECT SELECT title FROM loan) AS t
--- refused: the unit is made another in a subquery
SELECT COUNT(*) FROM (SELECT id + 1 AS id FROM member) AS m JOIN loan ON loan.member_id = m.id
--- refused: the unit is made a constant in a subquery
SELECT COUNT(*) FROM (SELECT 7777 AS id, card FROM member) AS m JOIN loan ON loan.member_id = m.id
