"""Numbers printed by a format, in DuckDB's words: digits with separators between them, cut where the number begins."""

from __future__ import annotations

from sqlglot import exp

from rewriter.dialects.nodes import call, number, text, when
from rewriter.dialects.number_format import NumberFormat

_NAME = "dpsql_digits"


def number_printed(digits: exp.Expr, pattern: NumberFormat) -> exp.Expr:
    """What a format prints of a number, which is given as a text with as many decimals as the format has."""
    function = exp.Lambda(this=_Print(pattern).whole(), expressions=[exp.to_identifier(_NAME)])
    return call("list_extract", call("list_transform", exp.Array(expressions=[digits]), function), number(1))


class _Print:
    """The parts of what is printed, over the number's text."""

    def __init__(self, pattern: NumberFormat) -> None:
        self.pattern = pattern

    def whole(self) -> exp.Expr:
        long = exp.GT(this=call("length", self._before()), expression=number(self.pattern.digits))  # not so of NULL
        printed = when(long, self._hashes(), self._put_together(self._integer(), self._decimals()))
        pieces = [text(self.pattern.before), printed, text(self.pattern.behind)]
        return _joined(pieces)

    def _hashes(self) -> exp.Expr:
        whole = text("".join("," if one == "," else "#" for one in self.pattern.whole))
        point = "." if self.pattern.point else ""
        return self._put_together(whole, text(point + "#" * len(self.pattern.decimals)))

    def _put_together(self, whole: exp.Expr, decimals: exp.Expr) -> exp.Expr:
        pattern, width = self.pattern, len(self.pattern.whole)
        plus, minus = {"": (" ", "-"), "PR": (" ", "<"), "MI": (" ", "-")}.get(pattern.sign, ("+", "-"))
        if not pattern.fills and plus == " ":
            plus = ""
        sign = when(self._negative(), text(minus), text(plus))
        if pattern.sign in ("MI", "SG") and not pattern.after:
            return _joined([sign, self._filled(whole, width), decimals])
        if pattern.after and pattern.sign != "PR":
            return _joined([self._filled(whole, width), decimals, sign])
        closing = [] if pattern.sign != "PR" else [when(self._negative(), text(">"), text(plus))]
        return _joined([self._filled(_joined([sign, whole]), width + 1), decimals, *closing])

    def _filled(self, shown: exp.Expr, width: int) -> exp.Expr:
        return call("lpad", shown, number(width), text(" ")) if self.pattern.fills else shown

    # -- parts of the number -----------------------------------------------------------------------------------------

    def _text(self) -> exp.Expr:
        return exp.column(_NAME)

    def _negative(self) -> exp.Expr:
        return exp.EQ(this=exp.Left(this=self._text(), expression=number(1)), expression=text("-"))

    def _before(self) -> exp.Expr:
        """The digits before the point, without zeros in front."""
        decimals = len(self.pattern.decimals)
        unsigned = call("ltrim", self._text(), text("-"))
        if decimals:
            unsigned = exp.Left(this=unsigned, expression=number(-decimals - 1))
        return call("ltrim", unsigned, text("0"))

    def _integer(self) -> exp.Expr:
        """The digits with separators between them, from the first that is printed on."""
        pattern, places = self.pattern, self.pattern.digits
        padded = call("lpad", self._before(), number(places), text("0"))
        pieces: list[exp.Expr] = []
        place = 0
        for part in pattern.whole.split(","):
            pieces += [text(","), call("substring", padded.copy(), number(place + 1), number(len(part)))]
            place += len(part)
        starts = [number(self._start(count)) for count in range(places + 1)]
        count = exp.Add(this=call("length", self._before()), expression=number(1))
        start = call("list_extract", exp.Array(expressions=starts), count)
        return call("substring", _joined(pieces[1:]), start)

    def _start(self, count: int) -> int:
        """The first character that is printed of a number with so many digits before the point."""
        pattern, places = self.pattern, self.pattern.digits
        first = min(pattern.first_zero, places - count)
        if first == places and not pattern.decimals and not count:
            first = places - 1
        if first == places:
            return len(pattern.whole) + 1
        digits = [at for at, one in enumerate(pattern.whole) if one != ","]
        return digits[first] + 1

    def _decimals(self) -> exp.Expr:
        pattern, count = self.pattern, len(self.pattern.decimals)
        if not count:
            return text("")
        shown: exp.Expr = call("right", self._text(), number(count))
        if not pattern.fills:
            kept = exp.Left(this=shown.copy(), expression=number(pattern.kept))
            shown = _joined([kept, call("rtrim", call("substring", shown, number(pattern.kept + 1)), text("0"))])
            if pattern.first_zero == pattern.digits and not pattern.kept:  # of nothing but zeros one is left
                nothing = exp.EQ(this=call("ltrim", self._text(), text("-0.")), expression=text(""))
                return when(nothing, text("0."), _joined([text("."), shown]))
        return _joined([text("."), shown])


def _joined(pieces: list[exp.Expr]) -> exp.Expr:
    some = [one for one in pieces if not (isinstance(one, exp.Literal) and not one.name)] or [text("")]
    whole = some[0]
    for piece in some[1:]:
        whole = exp.DPipe(this=whole, expression=piece)
    return exp.Paren(this=whole) if len(some) > 1 else whole
