"""Random questions that are answered in blocks of people: any aggregates over any rows, by public groups or without.

A neighbour has the same people in the same blocks, under the secret that tests have. Where a row is its own person, its
place in the table is its key, which a neighbour moves: blocks are of people who have a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.properties.drawing import world
from tests.properties.expressions import Field
from tests.properties.questions import Question
from tests.properties.sources import Sources
from tests.properties.world import World

FORMS = frozenset(
    {
        *("mean of blocks", "median of blocks", "keys of blocks", "filter of blocks", "two numbers of blocks"),
        *("people beside blocks", "figure of blocks", "quotient of blocks", "join along a foreign key", "cte"),
        *("quantile of blocks", "per person in blocks"),
    }
)
_OF_ONE = ("AVG", "STDDEV", "VAR_POP", "VAR_SAMP", "STDDEV_POP", "KURTOSIS", "SKEWNESS", "MEDIAN", "AVG")
_OF_TWO = ("CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_R2")
_RANGES = ((0, 1), (-1, 1), (-3, 50), (0, 1000))


def block_world(random: Random) -> World:
    """A world of people who have a key."""
    return next(found for found in iter(lambda: world(random), None) if found.entity is not None)


def block_question(random: Random, place: World) -> Question:
    """One random question that blocks answer."""
    asker = _Blocks(random, place.tame, set(), place)
    return Question(asker.ask(), frozenset(asker.features))


@dataclass(slots=True)
class _Blocks(Sources):
    """One question in the making."""

    def ask(self) -> str:
        source = self._from()
        fields = source.fields
        text = f"FROM {source.text}{self._where(source)}"
        if self._maybe(0.15) and (own := [f.text for f in fields if f.unit]):
            self._has("per person in blocks")
            number = self._number(fields, 0) or "1"
            rows = f"SELECT {own[0]} AS who, COUNT(*) AS n, SUM({number}) AS s {text} GROUP BY {own[0]}"
            fields, text = (Field("t.n", "small"), Field("t.s", "small")), f"FROM ({rows}) AS t"
        keys = self._public_keys(fields) if self._maybe(0.5) else []
        if keys:
            self._has("keys of blocks")
        blocks = self.random.choice([2, 7, 40])
        count = self.random.choice([1, 1, 2, 3])
        items = [self._in_blocks(fields, blocks) for _ in range(count)]
        if count > 1 and self._maybe(0.4):
            self._has("two numbers of blocks")
            items[0] = items[0].replace(f"blocks => {blocks}", f"blocks => {blocks + 3}")
        if self._maybe(0.25):
            self._has("people beside blocks")
            items.append("COUNT(*)")
        shown = [f"{key} AS g{number}" for number, key in enumerate(keys)]
        shown += [f"{one} AS a{number}" for number, one in enumerate(items)]
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"{source.before}SELECT {', '.join(shown)} {text}{group}"

    def _public_keys(self, fields: Sequence[Field]) -> list[str]:
        found = sorted({f.text for f in fields if f.listed is not None or f.kind == "flag"})
        return self.random.sample(found, min(len(found), self.random.choice([1, 1, 2])))

    def _in_blocks(self, fields: Sequence[Field], blocks: int) -> str:
        text = self._figure(fields)
        settings = [f"blocks => {blocks}"]
        # Without a range that is written out, it follows from the policy or the question is refused.
        low, high = self.random.choice(_RANGES)
        settings += [f"low => {low}", f"high => {high}"]
        median = self._maybe(0.3)
        if median:
            settings.append("combine => 'median'")
        self._has("median of blocks" if median else "mean of blocks")
        call = f"dpsql.over_blocks({text}, {', '.join(settings)})"
        if self._maybe(0.25):
            self._has("filter of blocks")
            call += f" FILTER (WHERE {self._condition(fields)})"
        return call

    def _figure(self, fields: Sequence[Field]) -> str:
        one, other = (self._number(fields, self.random.choice([0, 1])) or "1" for _ in range(2))
        form = self.random.randrange(5)
        if form == 0:
            self._has("quotient of blocks")
            return self.random.choice(
                [f"SUM({one}) / NULLIF(COUNT(*), 0)", f"AVG({one}) / AVG({other})", f"AVG({one}) - AVG({other})"]
            )
        if form == 1:
            self._has("figure of blocks")
            return f"{self.random.choice(_OF_TWO)}({one}, {other})"
        if form == 2:
            self._has("quantile of blocks")
            return self.random.choice([f"MEDIAN({one})", f"PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY {one})"])
        self._has("figure of blocks")
        return f"{self.random.choice(_OF_ONE)}({one})"
