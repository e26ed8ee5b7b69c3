"""What analysts get wrong, with the one message that each of them gets, and the statement that its hint leads to."""

from __future__ import annotations

BROKEN_STATEMENTS: tuple[tuple[str, int | None, str, str], ...] = (
    # The statement, the character that the error points to, SQLSTATE: message | hint, and the hint followed.
    (
        "SELECT COUNT(*) FROM pateint",
        22,
        "42P01: there is no table 'pateint' | did you mean patient?",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM patients",
        22,
        "42P01: there is no table 'patients' | did you mean patient?",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM clinic.patient",
        29,
        "42P01: there is no table 'clinic.patient' | write patient",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM analytics.visits",
        32,
        "42P01: there is no table 'analytics.visits' | did you mean visit?",
        "SELECT COUNT(*) FROM visit",
    ),
    (
        "SELECT COUNT(*) FROM staff",
        22,
        "42P01: there is no table 'staff' | there are patient, region, visit",
        "SELECT COUNT(*) FROM visit",
    ),
    (
        "SELECT * FROM dpsql.buget",
        21,
        "42P01: there is no table 'dpsql.buget' | did you mean dpsql.budget or dpsql.charges?",
        "SELECT * FROM dpsql.budget",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sexx = 'F'",
        36,
        "42703: there is no column 'sexx' | did you mean sex?",
        "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    ),
    (
        "SELECT AVG(wieght_kg) FROM patient",
        12,
        "42703: there is no column 'wieght_kg' | did you mean weight_kg?",
        "SELECT AVG(weight_kg) FROM patient",
    ),
    (
        "SELECT AVG(p.wieght) FROM patient AS p",
        14,
        "42703: there is no column 'p.wieght' | did you mean weight_kg?",
        "SELECT AVG(p.weight_kg) FROM patient AS p",
    ),
    (
        "SELECT diagnosis, COUNT(*) FROM visit GROUP BY diagnosis",
        8,
        "42703: there is no column 'diagnosis' | there are patient_id, day, cost, reason",
        "SELECT reason, COUNT(*) FROM visit GROUP BY reason",
    ),
    (
        "SELECT COUNT(*) FROM patient AS p WHERE q.sex = 'F'",
        43,
        "42703: there is no 'q' in FROM | there are p",
        "SELECT COUNT(*) FROM patient AS p WHERE p.sex = 'F'",
    ),
    (
        "SELECT visit.reason, COUNT(*) FROM visit AS v GROUP BY 1",
        14,
        "42703: there is no 'visit' in FROM | there are v",
        "SELECT v.reason, COUNT(*) FROM visit AS v GROUP BY 1",
    ),
    (
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON p.id = v.id",
        63,
        "42703: there is no column 'v.id' | there are patient_id, day, cost, reason",
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON p.id = v.patient_id",
    ),
    (
        "SELECT region, COUNT(*) FROM patient JOIN region ON region = name GROUP BY 1 ORDER BY popul",
        87,
        "42703: there is no column 'popul' | did you mean population?",
        "SELECT region, COUNT(*) FROM patient GROUP BY 1 ORDER BY 1",
    ),
    (
        "SELECT COUNT(*) FROM patient AS p, visit AS v JOIN region AS r ON r.name = p.region WHERE v.patient_id = p.id",
        78,
        "42P01: ON does not see p.region: JOIN joins before a comma does | write JOIN … ON or CROSS JOIN in the place of"
        " the comma",
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON v.patient_id = p.id JOIN region AS r ON r.name = p.region",
    ),
    (
        "SELECT name FROM dpsql.budget",
        8,
        "42703: there is no column name | name a column of FROM",
        "SELECT analyst FROM dpsql.budget",
    ),
    (
        "SELECT m FROM (SELECT COUNT(*) AS n FROM patient) AS t",
        8,
        "42703: there is no column m | name a column of FROM",
        "SELECT n FROM (SELECT COUNT(*) AS n FROM patient) AS t",
    ),
    (
        'SELECT COUNT(*) FROM patient WHERE sex = "F"',
        42,
        "42703: there is no column 'F' | a text stands in single quotes, 'F'; double quotes name a column",
        "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    ),
    (
        'SELECT COUNT(*) FROM visit WHERE day > "2025-06-01"',
        40,
        "42703: there is no column '2025-06-01' | a text stands in single quotes, '2025-06-01'; double quotes"
        " name a column",
        "SELECT COUNT(*) FROM visit WHERE day > '2025-06-01'",
    ),
    (
        "SELECT sex, COUNT(*) AS n FROM patient WHERE n > 5 GROUP BY sex",
        46,
        "42703: there is no column 'n' | n is a name of SELECT, which WHERE cannot see: a condition on an "
        "aggregate stands in HAVING",
        "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex HAVING COUNT(*) > 5",
    ),
    (
        "SELECT EXTRACT(MONTH FROM day) AS month, COUNT(*) FROM visit WHERE month = 3 GROUP BY 1",
        68,
        "42703: there is no column 'month' | month is a name of SELECT, which WHERE cannot see: write its expression",
        "SELECT EXTRACT(MONTH FROM day) AS month, COUNT(*) FROM visit WHERE EXTRACT(MONTH FROM day) = 3 GROUP BY 1",
    ),
    (
        "SELECT COUT(*) FROM patient",
        8,
        "42883: function cout is not answered | did you mean count or cot?",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT SUMM(cost) FROM visit",
        8,
        "42883: function summ is not answered | did you mean sum?",
        "SELECT SUM(cost) FROM visit",
    ),
    (
        "SELECT AVRAGE(weight_kg) FROM patient",
        8,
        "42883: function avrage is not answered | did you mean avg or age?",
        "SELECT AVG(weight_kg) FROM patient",
    ),
    (
        "SELECT DATE_TRUNK('month', day), COUNT(*) FROM visit GROUP BY 1",
        8,
        "42883: function date_trunk is not answered | did you mean date_trunc or date_bin?",
        "SELECT DATE_TRUNC('month', day), COUNT(*) FROM visit GROUP BY 1",
    ),
    (
        "SELECT date_trunc('mont', day), COUNT(*) FROM visit GROUP BY 1",
        8,
        "22023: DATE_TRUNC to mont is not answered | units: second, minute, hour, day, week, month, quarter, "
        "year, decade",
        "SELECT date_trunc('month', day), COUNT(*) FROM visit GROUP BY 1",
    ),
    (
        "SELECT EXTRACT(yaer FROM day), COUNT(*) FROM visit GROUP BY 1",
        26,
        "22023: EXTRACT(YAER) is not answered | units: year, isoyear, decade, century, millennium, quarter, "
        "month, week, day, dow, isodow, doy, hour, minute, second, epoch",
        "SELECT EXTRACT(year FROM day), COUNT(*) FROM visit GROUP BY 1",
    ),
    (
        "SELECT STRFTIME(day, '%c'), COUNT(*) FROM visit GROUP BY 1",
        8,
        "42883: function strftime is not answered | write TO_CHAR(day, 'YYYY-MM')",
        "SELECT TO_CHAR(day, 'YYYY-MM'), COUNT(*) FROM visit GROUP BY 1",
    ),
    (
        "SELECT AVG(DATEDIFF(day, DATE '2025-12-31')) FROM visit",
        12,
        "42883: this DATEDIFF is not answered | DATE_DIFF('day', a, b) is, or of 'month', 'quarter', 'year'; b::date - a::date are days",
        "SELECT AVG(DATE '2025-12-31'::date - day::date) FROM visit",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE ISNULL(smoker, false)",
        36,
        "42883: function isnull is not answered | write COALESCE(x, y)",
        "SELECT COUNT(*) FROM patient WHERE COALESCE(smoker, false)",
    ),
    (
        "SELECT IIF(sex = 'F', 1, 0), COUNT(*) FROM patient GROUP BY 1",
        8,
        "42883: there is no IF function | write CASE WHEN … THEN … ELSE … END",
        "SELECT CASE WHEN sex = 'F' THEN 1 ELSE 0 END, COUNT(*) FROM patient GROUP BY 1",
    ),
    (
        'SELECT COUNT(*) FROM visit WHERE CHARINDEX(reason, "a") > 0',
        52,
        "42703: there is no column 'a' | a text stands in single quotes, 'a'; double quotes name a column",
        "SELECT COUNT(*) FROM visit WHERE POSITION('a' IN reason) > 0",
    ),
    (
        "SELECT COUNT(*) FROM visit WHERE day > GETDATE()",
        40,
        "42883: function getdate is not answered | write CURRENT_DATE or now()",
        "SELECT COUNT(*) FROM visit WHERE day > CURRENT_DATE",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE RANDOM() < 0.5",
        36,
        "0A000: RANDOM() is random: its value is not a function of the row | use columns and constants",
        "SELECT COUNT(*) FROM patient WHERE birth_year < 1970",
    ),
    (
        "SELECT * FROM patient",
        None,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT p.* FROM patient AS p",
        None,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT COUNT(*) FROM patient AS p",
    ),
    (
        "SELECT sex, birth_year FROM patient",
        8,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT sex, AVG(birth_year) FROM patient GROUP BY sex",
    ),
    (
        "SELECT weight_kg FROM patient WHERE id = 7",
        8,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT AVG(weight_kg) FROM patient WHERE birth_year = 1970",
    ),
    (
        "SELECT id, COUNT(*) FROM patient GROUP BY id",
        8,
        "42501: this query returns rows of people | each group is one person: ask over all, as in SELECT AVG(n) FROM"
        " (SELECT …, COUNT(*) AS n FROM … GROUP BY …) AS t, or with GROUP BY n for how many people have so many rows",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT patient_id, SUM(cost) FROM visit GROUP BY patient_id",
        8,
        "42501: this query returns rows of people | each group is one person: ask over all, as in SELECT AVG(n) FROM"
        " (SELECT …, COUNT(*) AS n FROM … GROUP BY …) AS t, or with GROUP BY n for how many people have so many rows",
        "SELECT SUM(cost) FROM visit",
    ),
    (
        "SELECT DISTINCT id FROM patient",
        17,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT COUNT(DISTINCT id) FROM patient",
    ),
    (
        "SELECT id FROM patient UNION SELECT patient_id FROM visit",
        8,
        "42501: this query returns rows of people | ask for aggregates over people: COUNT(*), SUM(x), AVG(x),"
        " with GROUP BY for groups",
        "SELECT COUNT(*) FROM (SELECT id FROM patient UNION SELECT patient_id FROM visit) AS t",
    ),
    (
        "SELECT ARRAY_AGG(diagnosis) FROM patient",
        8,
        "0A000: ARRAY_AGG is not answered over people | values of people are not listed; use GROUP BY with COUNT(*)",
        "SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis",
    ),
    (
        "SELECT STRING_AGG(diagnosis, ', ') FROM patient",
        30,
        "0A000: STRING_AGG is not answered over people | values of people are not listed; use GROUP BY with COUNT(*)",
        "SELECT diagnosis, COUNT(*) FROM patient GROUP BY diagnosis",
    ),
    (
        "SELECT ANY_VALUE(weight_kg) FROM patient",
        8,
        "0A000: ANY_VALUE is not answered over people | it would be somebody's value; GROUP BY x names the "
        "values there are, MEDIAN(x) one in the middle",
        "SELECT MEDIAN(weight_kg) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT id FROM patient LIMIT 10) AS t",
        None,
        "42501: LIMIT over rows of people would pick people | aggregate first, e.g. COUNT(*) with GROUP BY; "
        "LIMIT over the aggregates is answered, and so are aggregates over the first rows in an order that is never NULL: "
        "WHERE x IS NOT NULL ORDER BY x DESC LIMIT 100",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex LIMIT 1",
    ),
    (
        "SELECT ROW_NUMBER() OVER (ORDER BY weight_kg) FROM patient",
        8,
        "0A000: this window would compare people with each other; ranks among people are answered in a subquery, where they"
        " are only compared with constants | add PARTITION BY id, for the rows of one person; or ask for SELECT COUNT(*)"
        " FROM (SELECT ROW_NUMBER() OVER (ORDER BY weight_kg) AS r FROM … WHERE weight_kg IS NOT NULL) AS t WHERE r <= 100;"
        " or for SELECT COUNT(*) FROM (SELECT PERCENT_RANK() OVER"
        " (ORDER BY weight_kg) AS r FROM … WHERE weight_kg IS NOT NULL) AS t WHERE r > 0.9; the value at a rank is"
        " PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY weight_kg), and the share of the rows below a value"
        " PERCENT_RANK(50) WITHIN GROUP (ORDER BY weight_kg)",
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY weight_kg) FROM patient",
    ),
    (
        "SELECT AVG(weight_kg / (weight_kg - 100)) FROM patient",
        None,
        "0A000: AVG(weight_kg / (weight_kg - 100)) has no bounds: one person could move it without limit | add WHERE "
        "weight_kg / (weight_kg - 100) BETWEEN 0 AND 100, say; a quotient has no range where its divisor may be 0",
        "SELECT AVG(weight_kg / (weight_kg - 100)) FROM patient WHERE weight_kg / (weight_kg - 100) BETWEEN 0 AND 100",
    ),
    (
        "SELECT id // 10, COUNT(*) FROM patient GROUP BY 1",
        12,
        "42601: syntax error near '/' | write a / b, which is whole for whole numbers, or FLOOR(a / b)",
        "SELECT id / 10, COUNT(*) FROM patient GROUP BY 1",
    ),
    (
        'SELECT AVG(body.mass) FROM (SELECT weight_kg AS "body.mass" FROM patient) AS t',
        17,
        "42703: there is no 'body' in FROM | a name with a dot is written in double quotes: \"body.mass\"",
        'SELECT AVG("body.mass") FROM (SELECT weight_kg AS "body.mass" FROM patient) AS t',
    ),
    (
        "SELECT SUM(id) FROM patient",
        None,
        "0A000: SUM(id) has no bounds: one person could move it without limit | add WHERE id BETWEEN 0 AND "
        "100, say; or the owner can declare a range for the columns in it",
        "SELECT SUM(id) FROM patient WHERE id BETWEEN 0 AND 100",
    ),
    (
        "SELECT MIN(id) FROM patient",
        None,
        "0A000: MIN(id) has no bounds: it is picked from a known range | the owner can declare a range for "
        "the column; of numbers, WHERE x BETWEEN 0 AND 100 will do",
        "SELECT MIN(id) FROM patient WHERE id BETWEEN 0 AND 100",
    ),
    (
        "SELECT SUM(sex) FROM patient",
        8,
        "42883: SUM needs a number, not a text | COUNT(*) with GROUP BY counts each of them; or cast them, as"
        " in x::integer",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT AVG(smoker) FROM patient",
        8,
        "42883: AVG needs a number, not a boolean | cast it, as in x::integer; or ask for COUNT(*) FILTER (WHERE x)",
        "SELECT AVG(smoker::integer) FROM patient",
    ),
    (
        "SELECT AVG(day) FROM visit",
        8,
        "42883: AVG needs a number, not a date | a number of it is x - DATE '2024-01-01', in days, or "
        "EXTRACT(YEAR FROM x)",
        "SELECT AVG(day - DATE '2024-01-01') FROM visit",
    ),
    (
        "SELECT MEDIAN(sex) FROM patient",
        None,
        "42883: MEDIAN(sex) needs a number, a date or a timestamp, not a text | GROUP BY it with COUNT(*)",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT MODE() WITHIN GROUP (ORDER BY weight_kg) FROM patient",
        8,
        "0A000: MODE() WITHIN GROUP (ORDER BY weight_kg) is picked from values that the policy lists, and "
        "there are none | SELECT x, COUNT(*) … GROUP BY x ORDER BY 2 DESC LIMIT 1, with weight_kg for x",
        "SELECT weight_kg, COUNT(*) FROM patient GROUP BY weight_kg ORDER BY 2 DESC LIMIT 1",
    ),
    (
        "SELECT PERCENTILE_CONT(weight_kg, 0.5) FROM patient",
        8,
        "42809: PERCENTILE_CONT lacks WITHIN GROUP | write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY weight_kg) FROM patient",
    ),
    (
        "SELECT PERCENTILE_CONT(50) WITHIN GROUP (ORDER BY weight_kg) FROM patient",
        8,
        "22003: a percentile's fraction is from 0 to 1 | write PERCENTILE_CONT(0.5)",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY weight_kg) FROM patient",
    ),
    (
        "SELECT COUNT() FROM patient",
        8,
        "42883: COUNT needs an argument | write COUNT(x), or COUNT(*)",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(sex, smoker) FROM patient",
        19,
        "0A000: a second argument is not answered in COUNT | leave it out",
        "SELECT COUNT(sex) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE weight_kg = 'heavy'",
        48,
        "22P02: 'heavy' is not a finite number | write digits, like 12.5",
        "SELECT COUNT(*) FROM patient WHERE weight_kg = 80.5",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex = 1",
        42,
        "42883: text and integer do not go together | write the number in quotes, as '1', or cast the text, "
        "as in x::integer",
        "SELECT COUNT(*) FROM patient WHERE sex = '1'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE smoker = 1",
        45,
        "42883: boolean and integer do not go together | write TRUE or FALSE, or a comparison, like x <> 0",
        "SELECT COUNT(*) FROM patient WHERE smoker = TRUE",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE smoker = 'maybe'",
        45,
        "22P02: 'maybe' is not a boolean | write TRUE or FALSE",
        "SELECT COUNT(*) FROM patient WHERE smoker = TRUE",
    ),
    (
        "SELECT COUNT(*) FROM visit WHERE day > '2025-13-01'",
        40,
        "22007: '2025-13-01' is not a date | write it as '2024-12-31'",
        "SELECT COUNT(*) FROM visit WHERE day > '2024-12-31'",
    ),
    (
        "SELECT COUNT(*) FROM visit WHERE day > 20250101",
        40,
        "42883: date and integer do not go together | write a date, as in DATE '2024-12-31', or compare a "
        "number of it, as in EXTRACT(YEAR FROM x)",
        "SELECT COUNT(*) FROM visit WHERE day > DATE '2024-12-31'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex",
        36,
        "42804: WHERE needs a condition, not a text | compare it with something",
        "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE NOT weight_kg",
        40,
        "42804: the argument of NOT must be boolean, not double | write a comparison, like x <> 0",
        "SELECT COUNT(*) FROM patient WHERE NOT weight_kg <> 0",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE weight_kg + sex > 3",
        36,
        "42883: there is no double + text | cast the operands to numbers, as in x::integer",
        "SELECT COUNT(*) FROM patient WHERE weight_kg + sex::integer > 3",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE birth_year LIKE '19%'",
        52,
        "42883: LIKE needs a text, not smallint | cast it, as in x::text",
        "SELECT COUNT(*) FROM patient WHERE birth_year::text LIKE '19%'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE CAST(sex AS chars) = 'F'",
        41,
        "0A000: there is no cast to chars | types are smallint, integer, bigint, numeric(p,s), double "
        "precision, text, boolean, date, time, timestamp, timestamptz",
        "SELECT COUNT(*) FROM patient WHERE CAST(sex AS text) = 'F'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE CAST(sex AS time) > '10:00'",
        41,
        "42846: cannot cast text to time | text can be cast to integer, decimal, double, boolean, date, timestamp",
        "SELECT COUNT(*) FROM patient WHERE CAST(CAST(sex AS timestamp) AS time) > '10:00'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex SIMILAR TO region",
        36,
        "0A000: this SIMILAR TO is not answered | its pattern is a literal: x SIMILAR TO '(a|b)%'",
        "SELECT COUNT(*) FROM patient WHERE sex SIMILAR TO '(a|b)%'",
    ),
    (
        "SELECT COUNT(*) FROM visit WHERE reason ~* '('",
        44,
        "2201B: the regular expression is not valid | use literals, ., [a-z], \\d, \\w, \\s, ( | ), ^, $ and the"
        " quantifiers * + ? {m,n}",
        "SELECT COUNT(*) FROM visit WHERE reason ~* '(a|b)'",
    ),
    (
        "SELECT sex, AVG(weight_kg) FROM patient",
        8,
        "42803: column 'sex' is neither in GROUP BY nor in an aggregate | add sex to GROUP BY, or ask for "
        "COUNT, SUM or AVG of it",
        "SELECT sex, AVG(weight_kg) FROM patient GROUP BY sex",
    ),
    (
        "SELECT sex, smoker, COUNT(*) FROM patient GROUP BY sex",
        13,
        "42803: column 'smoker' is neither in GROUP BY nor in an aggregate | add smoker to GROUP BY, or ask "
        "for COUNT, SUM or AVG of it",
        "SELECT sex, smoker, COUNT(*) FROM patient GROUP BY sex, smoker",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex HAVING weight_kg > 50",
        55,
        "42803: column 'weight_kg' is neither in GROUP BY nor in an aggregate | add weight_kg to GROUP BY, or"
        " ask for COUNT, SUM or AVG of it",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex HAVING AVG(weight_kg) > 50",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY 3",
        44,
        "42P10: GROUP BY position 3 is not in the select list | its columns are counted from 1 to 2",
        "SELECT sex, COUNT(*) FROM patient GROUP BY 1",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY 1 ORDER BY 3",
        None,
        "42P10: an ORDER BY position is not in the select list | count from 1",
        "SELECT sex, COUNT(*) FROM patient GROUP BY 1 ORDER BY 2",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY 1 LIMIT -1",
        None,
        "2201W: LIMIT and OFFSET are not below 0 | write LIMIT 10",
        "SELECT sex, COUNT(*) FROM patient GROUP BY 1 LIMIT 10",
    ),
    (
        "SELECT COUNT(*) FROM patient LIMIT 'ten'",
        36,
        "22P02: LIMIT takes a number of rows | write LIMIT 10",
        "SELECT COUNT(*) FROM patient LIMIT 10",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient WHERE COUNT(*) > 5 GROUP BY sex",
        41,
        "42803: an aggregate stands in WHERE | move the condition to HAVING",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex HAVING COUNT(*) > 5",
    ),
    (
        "SELECT AVG(SUM(cost)) FROM visit GROUP BY patient_id",
        12,
        "42803: an aggregate stands in an aggregate | compute the inner one in FROM: AVG(x) FROM (SELECT key,"
        " SUM(y) AS x … GROUP BY key) AS t",
        "SELECT AVG(x) FROM (SELECT patient_id, SUM(cost) AS x FROM visit GROUP BY patient_id) AS t",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) = 1",
        56,
        "0A000: QUALIFY is not answered here | name the window in a subquery: FROM (SELECT key, ROW_NUMBER() "
        "OVER (ORDER BY COUNT(*) DESC) AS r … GROUP BY key) AS t WHERE r = 1",
        "SELECT sex FROM (SELECT sex, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r FROM patient GROUP BY "
        "sex) AS t WHERE r = 1",
    ),
    (
        "SELECT sex FROM (SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex) AS t QUALIFY RANK() OVER "
        "(ORDER BY n) = 1",
        74,
        "0A000: QUALIFY is not answered here | name the window in a subquery: FROM (SELECT key, ROW_NUMBER() "
        "OVER (ORDER BY COUNT(*) DESC) AS r … GROUP BY key) AS t WHERE r = 1",
        "SELECT sex FROM (SELECT sex, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS r FROM patient GROUP BY "
        "sex) AS t WHERE r = 1",
    ),
    (
        "SELECT COUNT(*) FROM patient, visit",
        None,
        "0A000: patient and visit are joined, but not by the same person | add the condition patient.id = "
        "visit.patient_id",
        "SELECT COUNT(*) FROM patient, visit WHERE patient.id = visit.patient_id",
    ),
    (
        "SELECT COUNT(*) FROM patient AS a JOIN patient AS b ON a.region = b.region",
        None,
        "0A000: a and b are joined, but not by the same person | add the condition a.id = b.id",
        "SELECT COUNT(*) FROM patient AS a JOIN patient AS b ON a.region = b.region AND a.id = b.id",
    ),
    (
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS p ON TRUE",
        None,
        "42712: p stands twice in FROM | give each an alias",
        "SELECT COUNT(*) FROM patient AS p JOIN visit AS v ON p.id = v.patient_id",
    ),
    (
        "SELECT COUNT(*) FROM patient JOIN visit USING (id)",
        48,
        "42703: there is no column 'visit.id' | there are patient_id, day, cost, reason",
        "SELECT COUNT(*) FROM patient JOIN visit ON patient.id = patient_id",
    ),
    (
        "SELECT COUNT(*) FROM patient JOIN visit ON id = patient_id WHERE patient.costs > 3",
        74,
        "42703: there is no column 'patient.costs' | there are id, sex, birth_year, height_cm, weight_kg, "
        "smoker, diagnosis, region",
        "SELECT COUNT(*) FROM patient JOIN visit ON id = patient_id WHERE cost > 3",
    ),
    (
        "SELECT COUNT(*) FROM patient TABLESAMPLE BERNOULLI (10)",
        53,
        "0A000: TABLESAMPLE is not answered in FROM | leave it out",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM patient FOR UPDATE",
        None,
        "0A000: FOR UPDATE is not answered in a SELECT over people | leave it out",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) INTO n FROM patient",
        22,
        "0A000: SELECT INTO is not answered in a SELECT over people | leave it out",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM visit PIVOT (SUM(cost) FOR reason IN ('acute'))",
        35,
        "0A000: PIVOT is not answered in FROM | write COUNT(*) FILTER (WHERE key = …) for each column",
        "SELECT COUNT(*) FILTER (WHERE reason = 'acute') FROM visit",
    ),
    (
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        None,
        "42P01: a function in FROM is not answered | name a table",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FORM patient",
        22,
        "42601: syntax error near 'patient' | did you mean FROM?",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELEC COUNT(*) FROM patient",
        1,
        "42601: a statement cannot begin with 'SELEC' | did you mean SELECT?",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(* FROM patient",
        16,
        "42601: syntax error near 'FROM' | parentheses do not match: 1 opened, 0 closed",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*), FROM patient",
        18,
        "42601: syntax error near 'FROM': something is missing before it | remove the comma, or name a value behind it",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE",
        30,
        "42601: the query ends early | write a condition",
        "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    ),
    (
        "SELECT COUNT(*) FROM",
        17,
        "42601: the query ends early | name a table",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY",
        35,
        "42601: the query ends early | name a column",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex IN ()",
        44,
        "42601: syntax error near ')': something is missing before it | name at least one value",
        "SELECT COUNT(*) FROM patient WHERE sex IN ('F')",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE birth_year BETWEEN 1950",
        55,
        "42601: syntax error near '1950' | write BETWEEN low AND high",
        "SELECT COUNT(*) FROM patient WHERE birth_year BETWEEN 1950 AND 1960",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex = 'F",
        42,
        "42601: a quote is not closed | close it with '; within quotes it is written twice",
        "SELECT COUNT(*) FROM patient WHERE sex = 'F'",
    ),
    (
        "SELECT TOP 10 region, COUNT(*) FROM patient GROUP BY region",
        12,
        "42601: syntax error near '10' | write LIMIT 10 at the end",
        "SELECT region, COUNT(*) FROM patient GROUP BY region LIMIT 10",
    ),
    (
        "SELECT COUNT(*) FROM `patient`",
        30,
        "42601: syntax error near '`' | a name that needs quotes stands in double ones, as in FROM \"patient\"",
        'SELECT COUNT(*) FROM "patient"',
    ),
    (
        "SELECT COUNT(*) FROM [patient]",
        22,
        "42601: syntax error near '[' | a name that needs quotes stands in double ones, as in FROM \"patient\"",
        'SELECT COUNT(*) FROM "patient"',
    ),
    (
        "FROM patient SELECT COUNT(*)",
        1,
        "42601: a statement cannot begin with 'FROM' | send a SELECT, EXPLAIN, SET or SHOW",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "help",
        1,
        "42601: a statement cannot begin with 'help' | send a SELECT, EXPLAIN, SET or SHOW",
        "SELECT * FROM dpsql.columns",
    ),
    (
        "DESCRIBE",
        1,
        "42501: DESCRIBE is not answered: what there is, is in a relation | SELECT * FROM dpsql.columns lists"
        " tables and columns, with their types and declared ranges",
        "SELECT * FROM dpsql.columns",
    ),
    (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, privacy_unit_column = id) sex, COUNT(*) FROM patient GROUP BY sex",
        13,
        "42601: WITH DIFFERENTIAL_PRIVACY is not written here: every answer is differentially private | SELECT COUNT(*) FROM …;"
        " SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT WITH ANONYMIZATION OPTIONS(epsilon = 1) ANON_COUNT(*) FROM patient",
        13,
        "42601: WITH ANONYMIZATION is not written here: every answer is differentially private | SELECT COUNT(*) FROM …;"
        " SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SELECT sex, ANON_COUNT(*) FROM patient GROUP BY sex",
        13,
        "42601: ANON_COUNT is not written here: COUNT(*) over people is differentially private | SELECT COUNT(*) FROM …;"
        " SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT anon_sum(height_cm CLAMPED BETWEEN 0 AND 200) FROM patient",
        8,
        "42601: ANON_SUM is not written here: SUM(x) over people is differentially private | SELECT SUM(x) FROM …;"
        " SET dpsql.epsilon = 1 sets the price, and the owner declares ranges and bounds",
        "SELECT SUM(height_cm) FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM patient; DROP TABLE patient",
        29,
        "42601: there is more than one statement | send them one by one",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "INSERT INTO patient VALUES (1)",
        1,
        "42501: INSERT is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "UPDATE patient SET sex = 'F'",
        1,
        "42501: UPDATE is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "DELETE FROM patient WHERE id = 7",
        1,
        "42501: DELETE is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "DROP TABLE patient",
        1,
        "42501: DROP is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "CREATE TABLE x AS SELECT 1",
        1,
        "42501: CREATE is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "COPY patient TO '/tmp/x'",
        1,
        "42501: COPY is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "GRANT ALL ON patient TO ana",
        1,
        "42501: GRANT is not allowed: dpsql only reads | send a SELECT with aggregates, e.g. SELECT COUNT(*) FROM …",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "EXPLAIN DELETE FROM patient",
        None,
        "0A000: EXPLAIN takes a SELECT, since dpsql only reads | write EXPLAIN SELECT …; it shows expected error, price"
        " and plan",
        "SELECT COUNT(*) FROM patient",
    ),
    (
        "SET dpsql.epsilon = 100",
        None,
        "22023: dpsql.epsilon is a number above 0 and at most 1 | SET dpsql.epsilon = 0.25",
        "SET dpsql.epsilon = 0.25",
    ),
    (
        "SET dpsql.epsilom = 0.25",
        None,
        "22023: there is no setting dpsql.epsilom | there are dpsql.epsilon, dpsql.target_error, dpsql.reuse,"
        " dpsql.consistent, dpsql.intervals, dpsql.digits, dpsql.other, dpsql.empty_groups, dpsql.notices, "
        "dpsql.stale, dpsql.watch, dpsql.watch_every",
        "SET dpsql.epsilon = 0.25",
    ),
    (
        "SET dpsql.reuse = maybe",
        None,
        "22023: dpsql.reuse is on or off | SET dpsql.reuse = on",
        "SET dpsql.reuse = on",
    ),
    (
        "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex HAVING n > 5",
        60,
        "42703: there is no column 'n' | n is a name of SELECT, which stands only by itself in GROUP BY and ORDER BY:"
        " write its expression",
        "SELECT sex, COUNT(*) AS n FROM patient GROUP BY sex HAVING COUNT(*) > 5",
    ),
    (
        "SELECT COUNT(*) AS n, n * 2 FROM patient",
        23,
        "42703: there is no column 'n' | n is a name of SELECT, which stands only by itself in GROUP BY and ORDER BY:"
        " write its expression",
        "SELECT COUNT(*) AS n, COUNT(*) * 2 FROM patient",
    ),
    (
        "SELECT COUNT(*) FROM visit WHERE cost = seven",
        41,
        "42703: there is no column 'seven' | there are patient_id, day, cost, reason; a text stands in single quotes,"
        " 'seven'",
        "SELECT COUNT(*) FROM visit WHERE cost = '7'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex LIKE",
        40,
        "42601: the query ends early | write a pattern, as in LIKE 'a%'",
        "SELECT COUNT(*) FROM patient WHERE sex LIKE 'a%'",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE sex IS",
        40,
        "42601: the query ends early | write IS NULL or IS NOT NULL",
        "SELECT COUNT(*) FROM patient WHERE sex IS NOT NULL",
    ),
    (
        "SELECT COUNT(*) FROM patient WHERE NOT",
        36,
        "42601: the query ends early | write a condition",
        "SELECT COUNT(*) FROM patient WHERE NOT smoker",
    ),
    (
        "SELECT COUNT(*) FROM patient GROUP sex",
        36,
        "42601: syntax error near 'sex' | write GROUP BY sex",
        "SELECT COUNT(*) FROM patient GROUP BY sex",
    ),
    (
        "SELECT CORR(height_cm) FROM patient",
        22,
        "42601: syntax error near ')' | write CORR(y, x), with two arguments",
        "SELECT CORR(height_cm, weight_kg) FROM patient",
    ),
    (
        "SELECT [sex] FROM patient",
        9,
        "0A000: arrays are not answered | write a list as x IN (1, 2), and a name that needs quotes in double ones, as"
        ' in FROM "patient"',
        "SELECT COUNT(*) FROM \"patient\" WHERE sex IN ('F', 'M')",
    ),
    (
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex LIMIT 5 PERCENT",
        None,
        "0A000: PERCENT in LIMIT is not answered | leave it out",
        "SELECT sex, COUNT(*) FROM patient GROUP BY sex LIMIT 5",
    ),
)
