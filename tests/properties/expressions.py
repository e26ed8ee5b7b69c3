"""Random expressions over columns of known kinds: conditions, numbers with a range, aggregates and grouping keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

NUMERIC = ("small", "big", "tiny", "ratio", "money", "count")
OF_ONE = ("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV", "STDDEV_POP", "STDDEV_SAMP")
OF_TWO = ("COVAR_POP", "COVAR_SAMP", "REGR_COUNT", "REGR_AVGX", "REGR_AVGY", "REGR_SXX", "REGR_SYY", "REGR_SXY")
QUOTIENTS = ("CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")
TEXTS = ("cat", "note", "area", "name")


@dataclass(frozen=True, slots=True)
class Field:
    """A column in scope: how it is written, its kind, whether it has a finite domain and whether it is bounded."""

    text: str
    kind: str
    listed: tuple[object, ...] | None = None
    span: tuple[object, object] | None = None
    unit: bool = False
    private: bool = True

    @property
    def bounded(self) -> bool:
        return self.span is not None

    @property
    def finite(self) -> bool:
        """Whether GROUP BY of it has a small public key set."""
        wide = self.span is not None and self.kind in ("big", "ratio", "money", "at")
        return self.listed is not None or self.kind in ("area", "flag") or (self.span is not None and not wide)


@dataclass(slots=True)
class Expressions:
    """Draws expressions, and notes in ``features`` what is in them. ``tame``: only what two engines agree on."""

    random: Random
    tame: bool
    features: set[str]

    def _has(self, *features: str) -> None:
        self.features.update(features)

    def _maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    # Conditions

    def _condition(self, fields: Sequence[Field], depth: int = 1) -> str:
        usable = [f for f in fields if f.kind not in ("key", "link")]
        if not usable:
            return "TRUE"
        if depth and self._maybe(0.25):
            one, other = self._condition(fields, depth - 1), self._condition(fields, depth - 1)
            word = self.random.choice(["AND", "OR", "AND NOT"])
            return f"({one} {word} {other})" if word != "AND NOT" else f"({one} AND NOT ({other}))"
        found = self.random.choice(usable)
        return self._test(found)

    def _test(self, found: Field) -> str:
        text = found.text
        if self._maybe(0.15):
            self._has("is null")
            return f"{text} IS {self.random.choice(['', 'NOT '])}NULL"
        if found.kind == "flag":
            return self.random.choice(
                [text, f"NOT {text}", f"{text} = TRUE", f"{text} IS TRUE", f"{text} IS NOT FALSE"]
            )
        if found.kind in TEXTS:
            return self._text_test(text)
        if found.kind == "day":
            self._has("date test")
            return self.random.choice(
                [
                    f"{text} >= DATE '2020-01-15'",
                    f"{text} BETWEEN DATE '2019-12-31' AND DATE '2020-02-10'",
                    f"EXTRACT(MONTH FROM {text}) = 1",
                    f"{text} + INTERVAL '1 month' < DATE '2020-03-01'",
                    f"date_trunc('month', {text}) = DATE '2020-01-01'",
                ]
            )
        if found.kind == "at":
            return self.random.choice([f"{text} < TIMESTAMP '2020-01-10 12:00:00'", f"EXTRACT(HOUR FROM {text}) >= 12"])
        number = self._literal(found)
        return self.random.choice(
            [
                f"{text} {self.random.choice(['<', '<=', '>', '>=', '=', '<>'])} {number}",
                f"{text} IN ({number}, {self._literal(found)}, 3)",
                f"{text} NOT IN ({number}, 1)",
                f"{text} BETWEEN {number} AND {number} + 10",
                f"ABS({text}) < 1000",
                f"{text} / 2 > {number}",
                f"10 / {text} > 1",
                f"CAST({text} AS INTEGER) % 2 = 0",
            ]
        )

    def _text_test(self, text: str) -> str:
        self._has("text test")
        return self.random.choice(
            [
                f"{text} = 'a'",
                f"{text} <> 'n1'",
                f"{text} IN ('a', 'b', 'n0', 'north')",
                f"{text} NOT IN ('c', 'n2')",
                f"{text} LIKE 'n%'",
                f"{text} NOT LIKE '%a%'",
                f"LENGTH({text}) > 1",
                f"UPPER({text}) = 'A'",
                f"{text} || 'x' = 'ax'",
                f"COALESCE({text}, 'a') = 'a'",
                f"SUBSTRING({text} FROM 1 FOR 1) = 'n'",
                f"CAST({text} AS INTEGER) > 3",
            ]
        )

    def _literal(self, found: Field) -> str:
        if found.span is not None and not isinstance(found.span[0], date):
            low, high = found.span
            return self.random.choice(
                [str(low), str(high), str((low + high) / 2) if found.kind == "ratio" else str(low)]
            )  # type: ignore[operator]
        return self.random.choice(["0", "1", "2.5", "-3", "100"])

    # Numbers

    def _number(self, fields: Sequence[Field], depth: int) -> str | None:
        """A numeric expression whose range follows from what is declared."""
        numbers = [f for f in fields if f.kind in NUMERIC]
        if not numbers:
            return None
        if depth == 0 or self._maybe(0.35):
            found = self.random.choice(numbers)
            if not found.bounded:
                self._has("greatest and least")
                return f"GREATEST({self.random.choice([0, -5])}, LEAST({found.text}, {self.random.choice([10, 100])}))"
            return found.text
        one = self._number(fields, depth - 1) or "1"
        other = self._number(fields, depth - 1) or "1"
        self._has("arithmetic")
        forms = [
            f"({one} + {other})",
            f"({one} - {other})",
            f"({one} - {one})",
            f"({one} + {one})",
            f"({one} * {self.random.choice(['2', '-3', '0.5', '1.25'])})",
            f"(- {one})",
            f"ABS({one})",
            f"GREATEST({one}, {other})",
            f"COALESCE({one}, 0)",
            f"COALESCE({one}, {other})",
            f"({one} / 4)",
            f"({one} / 2.0)",
            f"CAST({one} AS DOUBLE PRECISION)",
            # PostgreSQL rounds halves of doubles to even and DuckDB does not.
            *([] if self.tame else [f"ROUND({one})"]),
            f"FLOOR({one})",
            f"CASE WHEN {self._condition(fields)} THEN {one} ELSE {other} END",
            f"CASE WHEN {self._condition(fields)} THEN {one} END",
        ]
        if depth == 2:
            forms.append(f"({one} * {other})")
        text = self.random.choice(forms)
        if text.startswith("CASE"):
            self._has("case")
        return text

    # Aggregates

    def _aggregates(self, fields: Sequence[Field], count: int = 0) -> list[str]:
        number = count or self.random.choice([1, 1, 2, 2, 3, 5])
        if not count and self._maybe(0.2) and (family := self._family(fields)):
            return family
        found = [self._aggregate(fields, number=bool(count)) for _ in range(number)]
        if len(found) > 1:
            self._has("several aggregates")
        return found

    def _aggregate(self, fields: Sequence[Field], *, number: bool = False) -> str:
        """An aggregate; ``number``: not a boolean, whatever is then done with it."""
        plain = [f for f in fields if f.kind not in ("key", "link")]
        units = [f for f in fields if f.unit]
        kinds = [
            "count",
            "count x",
            "units",
            "sum",
            "avg",
            "case",
            "narrowed",
            "moment",
            "quantile",
            "distinct",
            "boolean",
            "mode",
        ]
        # Of values that are as common as each other, each is a mode: two engines need not agree.
        kind = self.random.choices(kinds, [5, 3, 3, 6, 4, 2, 2, 3, 3, 3, 0 if number else 4, 0 if self.tame else 2])[0]
        text = "COUNT(*)"
        if kind == "narrowed" and (narrowed := self._narrowed(fields)):
            return narrowed
        if kind == "count x" and plain:
            text = f"COUNT({self.random.choice(plain).text})"
        elif kind == "units" and units:
            text = f"COUNT(DISTINCT {self.random.choice(units).text})"
        elif kind == "distinct" and fields:
            text = self._distinct_values(fields)
        elif kind in ("sum", "avg") and (added := self._number(fields, self.random.choice([0, 0, 1, 2]))) is not None:
            text = f"{kind.upper()}({added})"
        elif kind == "moment" and (moment := self._moment(fields)):
            text = moment
        elif kind == "quantile" and (found := self._quantile(fields)):
            text = found
        elif kind == "boolean":
            text = f"{self.random.choice(['BOOL_OR', 'BOOL_AND', 'EVERY'])}({self._condition(fields)})"
        elif kind == "mode" and (what := self._listed(fields)):
            text = self.random.choice([f"MODE({what})", f"MODE() WITHIN GROUP (ORDER BY {what})"])
        elif kind == "case":
            test = self._condition(fields)
            text = self.random.choice(
                [f"SUM(CASE WHEN {test} THEN 1 ELSE 0 END)", f"COUNT(CASE WHEN {test} THEN 1 END)"]
            )
        self._has(f"aggregate {kind}" if text != "COUNT(*)" or kind == "count" else "aggregate count")
        if self._maybe(0.25):
            self._has("filter")
            text += f" FILTER (WHERE {self._condition(fields)})"
        return text

    def _listed(self, fields: Sequence[Field]) -> str:
        """A column whose values are few and declared."""
        listed = [f.text for f in fields if f.kind == "flag" or (f.kind == "tiny" and f.bounded)]
        return self.random.choice(listed) if listed else ""

    def _distinct_values(self, fields: Sequence[Field]) -> str:
        """How many different values there are, or rows of them; of keys too, which belong to one person or to many."""
        one, other = self.random.choice(fields).text, self.random.choice(fields).text
        if (number := self._number(fields, 1)) is not None and self._maybe(0.3):
            one = number
        if self._maybe(0.25):
            self._has("distinct rows")
            return self.random.choice([f"COUNT(DISTINCT ({one}, {other}))", f"COUNT(DISTINCT {one}, {other})"])
        # DuckDB's is not exact.
        return f"COUNT(DISTINCT {one})" if self.tame or self._maybe(0.8) else f"APPROX_COUNT_DISTINCT({one})"

    def _moment(self, fields: Sequence[Field]) -> str:
        """A variance, or what two variables have to do with each other."""
        x, y = (self._number(fields, self.random.choice([0, 0, 0, 1])) for _ in range(2))
        if x is None or y is None:
            return ""
        if self._maybe(0.5):
            return f"{self.random.choice(OF_ONE)}({x})"
        if not self.tame and self._maybe(0.3):
            return self._regression(fields, y, x)
        self._has("two variables")
        # What divides by a variance is as exact as that variance is large; tests/aggregates/test_moments.py has it.
        return f"{self.random.choice(OF_TWO if self.tame else (*OF_TWO, *QUOTIENTS))}({y}, {x})"

    def _regression(self, fields: Sequence[Field], y: str, x: str) -> str:
        """The coefficients of a regression, whose values tests/aggregates/test_regressions.py has."""
        self._has("regression")
        more = self._number(fields, 0) if self._maybe(0.5) else None
        elements = [one for one in ("1" if self._maybe(0.7) else None, x, more) if one is not None]
        if len(elements) > ("1" in elements) and self._maybe(0.3):
            # tests/aggregates/test_logistic_regressions.py has their values.
            self._has("logistic regression")
            return f"LOGREGR({y} > 1, ARRAY[{', '.join(elements)}])"
        return f"LINREGR({y}, ARRAY[{', '.join(elements)}])"

    def _quantile(self, fields: Sequence[Field]) -> str:
        """A quantile, whose value two engines agree on where it is one of the column's."""
        times = [f.text for f in fields if f.kind in ("day", "at") and f.bounded]
        numbers = [f.text for f in fields if f.kind in ("small", "tiny", "big", "money", "ratio") and f.bounded]
        if not times and not numbers:
            return ""
        what = self.random.choice(times if times and (not numbers or self._maybe(0.3)) else numbers)
        fraction = self.random.choice(["0.5", "0.25", "0.9"])
        forms = [f"PERCENTILE_DISC({fraction}) WITHIN GROUP (ORDER BY {what})"]
        if not self.tame:
            forms += [f"PERCENTILE_DISC({fraction}) WITHIN GROUP (ORDER BY {what} DESC)"]
            forms += [f"MEDIAN({what})", f"MIN({what})", f"MAX({what})"]
            forms += [f"PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {what})"]
            several = self.random.choice(["0.25, 0.5, 0.75", "0.1, 0.5", "0, 0.5, 0.8, 0.9, 1"])
            forms += [f"PERCENTILE_DISC(ARRAY[{several}]) WITHIN GROUP (ORDER BY {what})"] * 3
        return self.random.choice(forms)

    def _family(self, fields: Sequence[Field]) -> list[str]:
        """Counts, sums or means of one thing by several conditions, many of which are on one column."""
        usable = [f for f in fields if f.kind not in ("key", "link")]
        numbers = [f for f in fields if f.kind in NUMERIC and f.bounded]
        if not usable:
            return []
        found = self.random.choice(usable)
        size = self.random.choice([2, 3, 4, 6, 9])
        tests = [self._test(found) if self._maybe(0.6) else self._condition(fields) for _ in range(size)]
        if found.kind in NUMERIC and self._maybe(0.5):
            limits = [self._literal(found) for _ in tests]
            tests = [
                f"{found.text} {self.random.choice(['<', '<', '>='])} {limit} + {n}" for n, limit in enumerate(limits)
            ]
            self._has("thresholds")
        what = self.random.choice(["count", "sum", "sum", "avg"]) if numbers else "count"
        self._has("family", f"family of {what}s")
        if what == "count":
            whole, one = ["COUNT(*)"], [f"COUNT(*) FILTER (WHERE {test})" for test in tests]
            one = [
                f"COUNT(CASE WHEN {t} THEN 1 END)" if self._maybe(0.2) else text
                for t, text in zip(tests, one, strict=True)
            ]
            return [*one, *(whole if self._maybe(0.5) else [])]
        number = self._number(fields, self.random.choice([0, 0, 1])) or "1"
        call = what.upper()
        case = f"{call}(CASE WHEN {{}} THEN {number}{' ELSE 0' if what == 'sum' and self._maybe(0.5) else ''} END)"
        forms = [f"{call}({number}) FILTER (WHERE {{}})", case]
        family = [self.random.choices(forms, [3, 1])[0].format(test) for test in tests]
        return [*family, *([f"{call}({number})"] if self._maybe(0.5) else [])]

    def _narrowed(self, fields: Sequence[Field]) -> str:
        """A sum whose range its own FILTER gives or narrows."""
        numbers = [f for f in fields if f.kind in (*NUMERIC, "bare")]
        if not numbers:
            return ""
        self._has("narrowed")
        text = self.random.choice(numbers).text
        low, high = self.random.choice([("-5", "20"), ("0", "1"), ("2", "2"), ("0.5", "3.25"), ("- 1.5", "4")])
        test = self.random.choice(
            [
                f"{text} BETWEEN {low} AND {high}",
                f"{text} >= {low} AND {text} < 9",
                f"3 > {text} AND -7 <= {text}",
                f"{text} BETWEEN 0 AND CAST(2.7 AS INTEGER)",
                f"{text} = 3",
                f"{text} > 0 AND {text} <= 2.5::numeric(3, 1) AND {text} IS NOT NULL",
            ]
        )
        return f"{self.random.choice(['SUM', 'AVG'])}({text}) FILTER (WHERE {test})"

    # Keys

    def _keys(self, fields: Sequence[Field], count: int) -> list[str]:
        found = list(dict.fromkeys(self._key(fields) for _ in range(count)))
        if len(found) > 1:
            self._has("several keys")
        return found

    def _key(self, fields: Sequence[Field]) -> str:
        usable = [f for f in fields if f.kind not in ("key", "link")]
        if not usable:
            return "CASE WHEN 1 = 1 THEN 'all' END"
        found = self.random.choice(usable)
        text = found.text
        if self._maybe(0.1):
            self._has("key case")
            return f"CASE WHEN {self._condition(fields, 0)} THEN 'yes' ELSE 'no' END"
        if found.kind in ("cat", "flag", "area", "name"):
            self._has("key column")
            return text
        if found.kind == "note" or not found.bounded:
            self._has("key selected")
            return text
        if found.kind in ("day", "at"):
            self._has("key of time")
            unit = self.random.choice(["month", "week", "year", "day"])
            return self.random.choice(
                [
                    f"date_trunc('{unit}', {text})",
                    f"EXTRACT({self.random.choice(['DOW', 'MONTH', 'YEAR'])} FROM {text})",
                ]
                + ([text] if found.kind == "day" else [])
            )
        self._has("key of number")
        if found.kind in ("ratio", "money", "big"):
            low, high = found.span  # type: ignore[misc]
            step = max(1, int((high - low) / self.random.choice([2, 5])) if high != low else 1)  # type: ignore[operator]
            return f"FLOOR({text} / {step})"
        return self.random.choice([text, f"FLOOR({text} / 10)", f"{text} / 5", f"{text} + 1"])
