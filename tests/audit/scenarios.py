"""What is audited: each scenario asks the worlds of one shape one or a few questions, under one kind of ledger.

A scenario of ε may have groups whose answers depend on each other (totals, sorting); one of ρ or δ may not, for its bound
counts on independent samples (:mod:`tests.audit.estimate`): its groups share no total and no choice.
"""

from __future__ import annotations

from tests.audit.scenario import Ask, Scenario
from tests.audit.worlds import MOST_TABLES


def _member(what: str, more: str = "") -> str:
    return f"SELECT cell, {what} FROM member WHERE world = {{w}} GROUP BY cell{more}"


def _event(what: str, more: str = "") -> str:
    return f"SELECT cell, {what} FROM event WHERE world = {{w}} GROUP BY cell{more}"


def _sub(what: str = "COUNT(*)") -> str:
    return f"SELECT cell, sub, {what} FROM event WHERE world = {{w}} GROUP BY cell, sub"


_COUNT = _member("COUNT(*)")
_COUNT_AND_SUM = _event("COUNT(*), SUM(x)")
_OWN = "SELECT m.cell, {} FROM event e JOIN member m ON m.id = e.member_id WHERE m.world = {{w}} AND e.world = {{w}} GROUP BY m.cell"
_VISITS = "SELECT member_id, cell, COUNT(*) AS n, SUM(x) AS x, MIN(day) AS day FROM event WHERE world = {w} GROUP BY member_id, cell"
_NUMBERED = "SELECT cell, sub, x, ROW_NUMBER() OVER (PARTITION BY member_id ORDER BY day, sub) AS r FROM event WHERE world = {w}"
_NESTED = ", ".join(f"COUNT(*) FILTER (WHERE item < {n})" for n in (1, 2, 5, 10, 20))
_SERIES = "SELECT cell, day, SUM(COUNT(*)) OVER (PARTITION BY cell ORDER BY day) FROM event WHERE world = {w} GROUP BY cell, day"
_QUARTILES = "PERCENTILE_DISC(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY x)"
_INTERVALS = ("dpsql.intervals = on",)
_LOGISTIC = (
    "SELECT cell, (LOGREGR(flag, ARRAY[1, x])).coef[1], (LOGREGR(flag, ARRAY[1, x])).coef[2],"
    " dpsql.predict(LOGREGR(flag, ARRAY[1, x]), ARRAY[1, 100]) FROM member"
    " WHERE world = {w} AND cell BETWEEN 50 AND 149 GROUP BY cell"
)
_RANKED = (
    "SELECT cell, COUNT(*), SUM({v}) FROM (SELECT cell, {v}, {rank}() OVER (PARTITION BY cell ORDER BY {v} DESC) AS r"
    " FROM {rows} WHERE world = {{w}} AND cell IS NOT NULL AND {v} IS NOT NULL) t WHERE r <= 2 GROUP BY cell"
)
_TOP = "SELECT {} FROM event WHERE world = {{w}} AND cell = {{c}} GROUP BY item ORDER BY COUNT(*) DESC LIMIT 1"
_BESIDE = (
    "SELECT cell, COUNT(*) FROM member, (SELECT z.n FROM (SELECT COUNT(*) AS n FROM member WHERE world = {w}) AS z,"
    " generate_series(1, 100) AS s(i)) AS q WHERE world = {w} AND q.n > -1e9 GROUP BY cell"
)
_REPEATED = (
    "SELECT cell, COUNT(*) FROM member,"
    " (SELECT COUNT(*) AS n, generate_series(1, 100) AS i FROM member WHERE world = {w}) AS q"
    " WHERE world = {w} AND q.n > -1e9 GROUP BY cell"
)
_TARIFF = "SELECT m.cell, COUNT(*) FROM member m JOIN tariff t ON t.kind = m.kind WHERE m.world = {w} GROUP BY m.cell"
_BORN = "SELECT COUNT(*) > 8 AS many FROM member WHERE world = {w} AND cell = {c} AND born <= CURRENT_DATE"


def _one(name: str, shape: str, sql: str, keys: int = 0, **more: object) -> Scenario:
    return Scenario(name, shape, (Ask(sql, keys),), **more)  # type: ignore[arg-type]


SCENARIOS = (
    # People and rows
    _one("people", "plain", _COUNT),
    _one("people, ρ", "plain", _COUNT, ledger="zcdp", epsilon="1.5"),
    _one("people, ε and δ", "plain", _COUNT, ledger="approx"),
    _one("people, a curve", "plain", _COUNT, ledger="rdp", epsilon="1.5"),
    _one("rows, as many as allowed", "maximal", _event("COUNT(*)")),
    _one("rows, 60 where 4 are allowed", "heap", _event("COUNT(*)")),
    _one("rows of a joined person, 60", "heap", _OWN.format("COUNT(*)")),
    _one("rows spread over groups", "over", _sub(), 1, epsilon="2"),
    _one("rows spread over groups, ρ", "over", _sub(), 1, ledger="zcdp", epsilon="2"),
    _one("30 exact duplicates", "duplicates", _COUNT_AND_SUM),
    _one("rows that are nobody's", "strays", _COUNT_AND_SUM),
    _one("rows under unknown keys", "unknown", _sub(), 1, epsilon="2"),
    # Values
    _one("a sum over people", "extreme", _member("SUM(x)")),
    _one("sums at the upper end", "heap", _event("SUM(x), SUM(n), SUM(d)")),
    _one("sums at the lower end", "below", _event("SUM(n)")),
    _one("sums of doubles, ρ", "heap", _event("SUM(x)"), ledger="zcdp", epsilon="1.5"),
    _one("NaN, ±inf, 5e-324", "wild", _event("SUM(x), AVG(x), COUNT(x)")),
    _one("a person's NaN and ±inf", "wild", _member("SUM(x), SUM(y), AVG(n), COUNT(d)")),
    _one("means at the end", "extreme", _member("AVG(x)")),
    _one("variances", "extreme", _member("VAR_SAMP(x), STDDEV_POP(x), AVG(x)"), epsilon="2"),
    _one("correlation and regression", "extreme", _member("CORR(x, y), REGR_SLOPE(y, x), REGR_COUNT(y, x)"), epsilon="2"),
    _one("a regression of two variables", "extreme", _member("(LINREGR(y, ARRAY[1, x, n])).coef[2], (LINREGR(y, ARRAY[1, x, n])).r2"), epsilon="2"),
    _one("a regression, ρ", "extreme", _member("(LINREGR(y, ARRAY[1, x])).coef[1], dpsql.predict(LINREGR(y, ARRAY[1, x]), ARRAY[1, 3])"), ledger="zcdp", epsilon="2"),
    # Each step has numbers for at most a hundred groups.
    _one("a logistic regression, ρ", "extreme", _LOGISTIC, ledger="zcdp", epsilon="8", groups=range(50, 150), most_worlds=40),
    _one("a logistic regression of one outlier", "outlier", _LOGISTIC, epsilon="12", groups=range(50, 150), most_worlds=20),
    _one("blocks of people", "extreme", _member("dpsql.over_blocks(AVG(x), blocks => 3)"), epsilon="2"),
    _one("blocks of people, ρ", "heap", _event("dpsql.over_blocks(AVG(x), blocks => 2)"), ledger="zcdp", epsilon="8"),
    _one("blocks of people, their median", "extreme", _member("dpsql.over_blocks(AVG(x), blocks => 2, combine => 'median')"), epsilon="12"),
    _one("nested filters", "over", _event(_NESTED), epsilon="2"),
    _one("booleans and shares", "minority", _member("BOOL_OR(NOT flag), BOOL_AND(flag), 100.0 * COUNT_IF(flag) / COUNT(*)")),
    _one("different values", "over", _event("COUNT(DISTINCT item)")),
    _one("different people", "over", _sub("COUNT(DISTINCT member_id)"), 1, epsilon="2"),
    _one("a conditional sum", "over", _event("SUM(CASE WHEN sub = 1 THEN x ELSE 0 END), COUNT_IF(sub = 2)"), epsilon="2"),
    _one("what people randomized", "extreme",
         "SELECT cell, said, COUNT(*), SUM(x) FROM member WHERE world = {w} AND said IS NOT NULL GROUP BY cell, said", 1, epsilon="2"),
    _one("what people randomized, ρ", "extreme", _member("AVG(x) FILTER (WHERE said = 'yes'), COUNT(*) FILTER (WHERE said <> 'no')"), ledger="zcdp", epsilon="2"),
    # Joins and features of people
    _one("a join that multiplies rows", "over",
         "SELECT e.cell, p.region, COUNT(*) FROM event e JOIN place p ON p.sub = e.sub WHERE e.world = {w} AND p.region IN ('north', 'south') GROUP BY e.cell, p.region", 1, epsilon="2"),
    _one("a chain of three tables", "fined",
         "SELECT m.cell, SUM(f.amount), COUNT(*) FROM fine f JOIN event e ON e.id = f.event_id JOIN member m ON m.id = e.member_id WHERE f.world = {w} AND e.world = {w} AND m.world = {w} GROUP BY m.cell"),
    _one("sums by person, then means", "over", f"SELECT cell, AVG(n), SUM(x) FROM ({_VISITS}) v GROUP BY cell", epsilon="2"),
    _one("first rows of each person", "over", f"SELECT cell, sub, COUNT(*), SUM(x) FROM ({_NUMBERED}) v WHERE r = 1 GROUP BY cell, sub", 1, epsilon="2"),
    # What is picked
    Scenario("a median, with its interval", "pair", (Ask(_event("MEDIAN(sub)"), settings=_INTERVALS),), epsilon="2"),
    _one("the largest and the least", "pair", _event("MAX(sub), MIN(sub)"), epsilon="4"),
    _one("a median, ρ", "middle", _member("MEDIAN(n)"), ledger="zcdp"),
    _one("quartiles, ρ", "extreme", _member(_QUARTILES), ledger="zcdp", epsilon="2"),
    _one("the most common", "minority", _member("MODE() WITHIN GROUP (ORDER BY kind)")),
    _one("the most common, ρ", "minority", _member("MODE() WITHIN GROUP (ORDER BY kind)"), ledger="zcdp", epsilon="1.5"),
    _one("the largest groups of one", "minority", _TOP.format("item, COUNT(*)"), 1, epsilon="2", most_worlds=2),
    _one("the largest of 200 groups", "plain", _member("COUNT(*)", " ORDER BY COUNT(*) DESC LIMIT 20"), epsilon="8", ordered=False),
    _one("the first two people", "extreme", _RANKED.format(rank="ROW_NUMBER", rows="member", v="n"), epsilon="2"),
    _one("the first two people, ρ", "extreme", _RANKED.format(rank="RANK", rows="member", v="n"), ledger="zcdp", epsilon="2"),
    _one("rows of the first two values", "over", _RANKED.format(rank="DENSE_RANK", rows="event", v="item"), epsilon="2"),
    _one("people, alone", "alone", _COUNT),
    _one("selected alone", "alone", "SELECT tag, COUNT(*) FROM member WHERE world = {w} GROUP BY tag", 1, ledger="approx", most_worlds=45),
    _one("selected alone, ρ", "alone", "SELECT tag, COUNT(*) FROM member WHERE world = {w} GROUP BY tag", 1, ledger="zcdp", most_worlds=45),
    _one("selected near the threshold", "crowd", "SELECT tag, COUNT(*) FROM member WHERE world = {w} GROUP BY tag", 1, ledger="approx", most_worlds=45, epsilon="2"),
    _one("many keys of one person", "many", "SELECT tag, COUNT(*) FROM event WHERE world = {w} GROUP BY tag", 1, ledger="approx", most_worlds=45),
    # What agrees
    _one("totals that agree", "over", "SELECT cell, sub, COUNT(*) FROM event WHERE world = {w} GROUP BY ROLLUP (cell, sub)", 1, epsilon="2"),
    _one("totals that agree, ρ", "over", "SELECT cell, sub, COUNT(*), SUM(x) FROM event WHERE world = {w} GROUP BY GROUPING SETS ((cell, sub), (cell))", 1, ledger="zcdp", epsilon="2"),
    _one("a total and its parts", "over", f"{_sub()} UNION ALL SELECT cell, NULL, COUNT(*) FROM event WHERE world = {{w}} GROUP BY cell", 1, epsilon="2", ordered=False),
    _one("running sums", "heap", _SERIES, 1, epsilon="2"),
    _one("running sums, ρ", "heap", _SERIES, 1, ledger="zcdp", epsilon="2"),
    # What the policy leaves open
    _one("a range that is learned", "open", "SELECT SUM(c{c}), AVG(c{c}) FROM open{w}", ledger="learned", epsilon="4", most_worlds=MOST_TABLES),
    # What stands on earlier answers, and on public rows that change
    _one("people beside an earlier answer", "plain", _BESIDE),
    _one("people beside the rows of an earlier answer", "plain", _REPEATED),
    _one("a public table that grows", "grown", _TARIFF, ledger="growing"),
    _one("a public view that follows the clock", "grown", _TARIFF, ledger="clocked"),
    # Over several statements
    Scenario("a watch on its second day", "born", (Ask(_BORN, settings=("dpsql.watch = 'w{w} {c}'",)),), ledger="daily", epsilon="8", days=2, most_worlds=3),
    Scenario("asked twice, paid once", "plain 2", (Ask(_COUNT), Ask(_COUNT)), reuse=True),
    Scenario("derived and topped up", "heap 2", (Ask(_sub(), 1), Ask(_event("COUNT(*)")), Ask(_event("COUNT(*)"), settings=("dpsql.epsilon = 2",))), reuse=True),
    Scenario("derived and topped up, ρ", "heap 2", (Ask(_sub(), 1), Ask(_event("COUNT(*)"))), ledger="zcdp", reuse=True),
    Scenario("two sessions", "plain", (Ask(_COUNT), Ask(_COUNT, user="bob")), epsilon="0.5"),
    Scenario("two sessions share", "plain 3", (Ask(_COUNT), Ask(_COUNT, user="bob")), reuse=True),
    # Ways over the wire, and what stands above a release
    Scenario("prepared", "heap", (Ask(_COUNT_AND_SUM, way="prepared"),)),
    Scenario("binary", "heap", (Ask(_COUNT_AND_SUM, way="binary"),)),
    Scenario("extended, COPY", "plain", (Ask(_COUNT, way="extended"), Ask(f"{_COUNT} HAVING COUNT(*) >= 0", way="copy")), epsilon="0.5"),
    Scenario("intervals", "heap", (Ask(_event("COUNT(*) AS n, AVG(x) AS x"), settings=_INTERVALS),)),
    _one("HAVING", "plain", f"{_COUNT} HAVING COUNT(*) >= 4"),
    _one("groups without evidence are hidden", "plain", _COUNT, empty_groups="hide"),
    _one("evidence is bought", "over", _event("SUM(x)"), empty_groups="hide", epsilon="2"),
    _one("ORDER BY, LIMIT over numbers", "plain", f"SELECT * FROM ({_member('COUNT(*) AS n')}) t ORDER BY n DESC, cell LIMIT 60", ordered=False, epsilon="2"),
    _one("a window over numbers", "plain", f"SELECT cell, RANK() OVER (ORDER BY n DESC), n FROM ({_member('COUNT(*) AS n')}) t", ordered=False),
    _one("raw measurements", "over", _sub("COUNT(*), SUM(x)"), 1, consistent=False, epsilon="2"),
)  # fmt: skip
