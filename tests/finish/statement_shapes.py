"""Statements of many shapes over the demo clinic, and which of their columns are keys, constants or public."""

from __future__ import annotations

BY_REGION = "SELECT region, COUNT(*) AS n FROM patient GROUP BY region"
BY_MONTH = "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS n, SUM(cost) AS cost FROM visit GROUP BY 1"
BY_BOTH = "SELECT region, sex, COUNT(*) AS n FROM patient GROUP BY region, sex"

SHAPES: dict[str, tuple[str, ...]] = {
    # What is measured as it is
    "SELECT COUNT(*) AS n FROM patient": (),
    BY_REGION: ("region",),
    BY_MONTH: ("month",),
    "SELECT sex, AVG(height_cm) AS h, STDDEV(height_cm) AS s FROM patient GROUP BY sex": ("sex",),
    "SELECT COUNT(DISTINCT patient_id) AS people FROM visit": (),
    "SELECT MEDIAN(weight_kg) AS m FROM patient": (),
    "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY weight_kg) AS p FROM patient": (),
    "SELECT CORR(height_cm, weight_kg) AS r, REGR_SLOPE(weight_kg, height_cm) AS b FROM patient": (),
    "SELECT birth_year, COUNT(*) AS n FROM patient GROUP BY birth_year": ("birth_year",),
    # Shares
    f"SELECT region, n * 1.0 / SUM(n) OVER () AS share FROM ({BY_REGION}) AS g": ("region",),
    f"SELECT region, ROUND(100.0 * n / SUM(n) OVER (), 1) AS share FROM ({BY_REGION}) AS g": ("region",),
    "SELECT region, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM patient GROUP BY region": ("region",),
    "SELECT region, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM patient) AS share FROM patient GROUP BY region": ("region",),
    f"SELECT region, sex, n * 1.0 / SUM(n) OVER (PARTITION BY region) AS share FROM ({BY_BOTH}) AS g": ("region", "sex"),
    f"WITH g AS ({BY_REGION}) SELECT region, n / (SELECT SUM(n) FROM g) AS share FROM g": ("region",),
    f"SELECT MAX(n) * 1.0 / SUM(n) AS most FROM ({BY_REGION}) AS g": (),
    "SELECT region, AVG(CASE WHEN smoker THEN 1.0 ELSE 0 END) AS smokers FROM patient GROUP BY region": ("region",),
    "SELECT diagnosis, COUNT(*) AS n, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM patient GROUP BY diagnosis":
        ("diagnosis",),
    # Changes
    f"SELECT month, n - LAG(n) OVER (ORDER BY month) AS d FROM ({BY_MONTH}) AS g": ("month",),
    f"SELECT month, n, LAG(n) OVER (ORDER BY month) AS before FROM ({BY_MONTH}) AS g": ("month",),
    f"SELECT month, n * 1.0 / LAG(n) OVER (ORDER BY month) - 1 AS growth FROM ({BY_MONTH}) AS g": ("month",),
    f"SELECT month, cost - FIRST_VALUE(cost) OVER (ORDER BY month) AS d FROM ({BY_MONTH}) AS g": ("month",),
    f"SELECT a.month, a.n - b.n AS d FROM ({BY_MONTH}) AS a JOIN ({BY_MONTH}) AS b "
    "ON a.month = b.month + INTERVAL '1 month'": ("month",),
    f"SELECT month, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS m FROM ({BY_MONTH}) AS g":
        ("month",),
    "SELECT DATE_TRUNC('month', day) AS month, SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', day)) AS n FROM visit "
    "GROUP BY 1": ("month",),
    f"SELECT month, ABS(n - AVG(n) OVER ()) AS away FROM ({BY_MONTH}) AS g": ("month",),
    # Ratios
    "SELECT region, SUM(weight_kg) / COUNT(*) AS m FROM patient GROUP BY region": ("region",),
    "SELECT region, SUM(weight_kg) / SUM(height_cm) AS m FROM patient GROUP BY region": ("region",),
    "SELECT region, AVG(weight_kg) / AVG(height_cm) AS m FROM patient GROUP BY region": ("region",),
    "SELECT AVG(weight_kg) / POWER(AVG(height_cm) / 100, 2) AS bmi FROM patient": (),
    "SELECT COUNT(*) FILTER (WHERE smoker) * 1.0 / COUNT(*) AS f FROM patient": (),
    "SELECT region, COUNT(*) FILTER (WHERE sex = 'F') * 1.0 / NULLIF(COUNT(*) FILTER (WHERE sex = 'M'), 0) AS f "
    "FROM patient GROUP BY region": ("region",),
    "SELECT COUNT(*) FILTER (WHERE sex = 'F') / COUNT(*) FILTER (WHERE sex = 'M') AS whole FROM patient": (),
    "SELECT STDDEV(height_cm) / AVG(height_cm) AS v FROM patient": (),
    "SELECT LN(COUNT(*)) AS l, SQRT(COUNT(*)) AS s, EXP(AVG(height_cm) / 100) AS e FROM patient": (),
    "SELECT CAST(COUNT(*) AS DOUBLE PRECISION) / 7 AS d, CAST(AVG(height_cm) AS INTEGER) AS i FROM patient": (),
    # Quotients near 0/0
    "SELECT COUNT(*) FILTER (WHERE birth_year = 1920) * 1.0 / NULLIF(COUNT(*) FILTER (WHERE birth_year = 1921), 0) AS f "
    "FROM patient": (),
    "SELECT SUM(cost) / NULLIF(COUNT(*), 0) AS m FROM visit WHERE cost < 0": (),
    "SELECT AVG(cost) AS m FROM visit WHERE cost < 0": (),
    "SELECT region, AVG(weight_kg) AS m, COUNT(*) AS n FROM patient WHERE birth_year = 1921 GROUP BY region": ("region",),
    "SELECT birth_year, AVG(weight_kg) AS m FROM patient WHERE region = 'north' GROUP BY birth_year": ("birth_year",),
    # CASE, COALESCE, GREATEST over aggregates
    "SELECT region, CASE WHEN COUNT(*) > 100 THEN AVG(weight_kg) ELSE 0 END AS m FROM patient GROUP BY region":
        ("region",),
    "SELECT region, COALESCE(AVG(weight_kg), 0) AS m, COALESCE(SUM(weight_kg), 0) AS s FROM patient GROUP BY region":
        ("region",),
    "SELECT GREATEST(COUNT(*), 10) AS g, LEAST(AVG(height_cm), 100) AS l FROM patient": (),
    f"SELECT SUM(CASE WHEN n > 1000 THEN n ELSE 0 END) AS large, COUNT(*) FILTER (WHERE n > 1000) AS c FROM "
    f"({BY_REGION}) AS g": (),
    "SELECT NULLIF(COUNT(*), 0) AS n, -COUNT(*) AS minus, COUNT(*) % 10 AS last FROM patient": (),
    # Windows and aggregates over groups
    f"SELECT region, n, RANK() OVER (ORDER BY n DESC) AS place FROM ({BY_REGION}) AS g": ("region",),
    f"SELECT region, PERCENT_RANK() OVER (ORDER BY n) AS p, CUME_DIST() OVER (ORDER BY n) AS c, NTILE(4) OVER "
    f"(ORDER BY n) AS q FROM ({BY_REGION}) AS g": ("region",),
    f"SELECT MIN(n) AS least, MAX(n) AS most, AVG(n) AS m, STDDEV(n) AS s, COUNT(*) AS groups FROM ({BY_REGION}) AS g":
        (),
    f"SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) AS m FROM ({BY_REGION}) AS g": (),
    f"SELECT region, SUM(n) AS n, MAX(n) - MIN(n) AS spread FROM ({BY_BOTH}) AS g GROUP BY region": ("region",),
    f"SELECT CORR(n, cost) AS r FROM ({BY_MONTH}) AS g": (),
    f"SELECT region, n FROM ({BY_REGION}) AS g WHERE n > (SELECT AVG(n) FROM ({BY_REGION}) AS h)": ("region",),
    "SELECT region, COUNT(*) AS n FROM patient GROUP BY region HAVING COUNT(*) > 500": ("region",),
    "SELECT diagnosis, COUNT(*) AS n FROM patient GROUP BY diagnosis ORDER BY n DESC LIMIT 3": ("diagnosis",),
    # UNION ALL, ROLLUP, scalar subqueries, joins with public rows
    f"{BY_REGION} UNION ALL SELECT 'all', COUNT(*) FROM patient": ("region",),
    f"{BY_REGION} UNION ALL SELECT sex, AVG(height_cm) FROM patient GROUP BY sex": ("region",),
    "SELECT 'people' AS what, COUNT(*) AS n FROM patient UNION ALL SELECT 'regions', 4": ("what",),
    "SELECT 'a' AS what, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visit) AS f FROM patient UNION ALL "
    "SELECT 'b', AVG(cost) FROM visit": ("what",),
    "SELECT sex, smoker, COUNT(*) AS n, SUM(weight_kg) AS s FROM patient GROUP BY ROLLUP (sex, smoker)":
        ("sex", "smoker"),
    "SELECT (SELECT COUNT(*) FROM patient) AS p, (SELECT SUM(cost) FROM visit) AS c": (),
    "SELECT (SELECT SUM(cost) FROM visit) / (SELECT COUNT(*) FROM patient) AS each": (),
    "SELECT (SELECT AVG(cost) FROM visit WHERE reason = 'acute') - (SELECT AVG(cost) FROM visit WHERE reason = "
    "'chronic') AS d": (),
    f"SELECT r.name, r.population, g.n, g.n * 1000.0 / r.population AS rate FROM region AS r LEFT JOIN ({BY_REGION}) AS g "
    "ON g.region = r.name": ("name", "population"),
    f"SELECT r.name, COALESCE(g.n, 0) AS n FROM region AS r LEFT JOIN ({BY_REGION} HAVING COUNT(*) > 2000) AS g "
    "ON g.region = r.name": ("name",),
    # Lists
    "SELECT PERCENTILE_CONT(ARRAY[0.1, 0.5, 0.9]) WITHIN GROUP (ORDER BY weight_kg) AS deciles FROM patient": (),
    "SELECT sex, PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY weight_kg) AS q FROM patient GROUP BY sex":
        ("sex",),
    "SELECT LINREGR(weight_kg, ARRAY[1, height_cm]) AS line FROM patient": (),
    # Keys, constants and public rows
    "SELECT name, population, population * 2 AS twice FROM region": ("name", "population", "twice"),
    "SELECT 7 AS seven, COUNT(*) AS n, GROUPING(sex) AS g, sex FROM patient GROUP BY ROLLUP (sex)":
        ("seven", "g", "sex"),
}  # fmt: skip
