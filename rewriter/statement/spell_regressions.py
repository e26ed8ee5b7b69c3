"""Regressions in all their spellings, made plain: one aggregate for each number that is shown of a regression.

``LINREGR(y, ARRAY[1, x])`` is MADlib's. ``(…).coef`` are its coefficients, as the bare call is, ``.std_err`` their
standard errors, ``.r2`` and ``.condition_no`` one number each. Coefficients are an array, ``float8[]`` on the wire;
``(…).coef[1]`` is the first of them, and ``t.b[1]`` is where a subquery ``t`` calls the coefficients ``b``.
``dpsql.predict(…, ARRAY[1, 50])`` is the sum of the coefficients times these numbers: one number of the regression
where they are written out, and arithmetic above the release where they are computed.

``LOGREGR(y, ARRAY[1, x])`` is MADlib's logistic regression, spelt alike; beside coefficients and standard errors it has
``odds_ratios``, and ``dpsql.predict`` is a chance.

``dpsql.pca(ARRAY[a, b, c], 2)`` is the second principal component of numbers, the first where none is said: its
``loadings``, as the bare call is, its ``variance`` and its ``share`` of all variance.

``(…).*`` are all fields as columns. Where a subquery calls a whole regression ``r``, ``(r).r2`` and ``(r).*`` are read
there: the subquery shows the fields that are asked of it, each as a column of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from rewriter.refused import Refused
from rewriter.statement.identifiers import folded

COMPONENTS = "pca"
REGRESSIONS = ("linregr", "logregr", COMPONENTS)
"""The names of the aggregates; their arguments are a field, a place from 1 on (0 of a field that is one number), y, the
elements of the array, and the numbers that a prediction is made at. Of components, y is the number of one."""

MOST_REGRESSORS = 20
_LARGEST = 10**30
"""Of a number that a prediction is made at."""
_LISTS = ("coef", "std_err", "odds_ratios", "loadings")
_FIELDS = {
    "linregr": ("coef", "std_err", "r2", "condition_no"),
    "logregr": ("coef", "std_err", "odds_ratios", "condition_no"),
    COMPONENTS: ("loadings", "variance", "share"),
}
"""The fields by name; the first is what the bare call is."""
_EXAMPLES = {
    "linregr": "LINREGR(y, ARRAY[1, x])",
    "logregr": "LOGREGR(y, ARRAY[1, x])",
    COMPONENTS: "dpsql.pca(ARRAY[a, b, c])",
}
_PREDICT = (
    "write dpsql.predict(LINREGR(y, ARRAY[1, x]), ARRAY[1, 50]), or dpsql.predict(b, ARRAY[1, 50]) where a subquery in"
    " FROM calls the coefficients b"
)


def plain_regressions(tree: exp.Query) -> exp.Query:
    """``tree`` with one aggregate for each number of a regression; columns keep the names that they had.

    >>> from rewriter.statement import parse
    >>> sql = "SELECT LINREGR(y, ARRAY[1, x]), (LINREGR(y, ARRAY[1, x])).coef[2], (LINREGR(y, ARRAY[1, x])).r2 FROM t"
    >>> for item in plain_regressions(parse(sql).tree).expressions[1:]:
    ...     print(item.sql("postgres"))
    LINREGR('coef', 2, y, 1, x) AS coef
    LINREGR('r2', 0, y, 1, x) AS r2
    """
    if not any(_is_call(node) or _is_prediction(node) for node in tree.find_all(exp.Anonymous, exp.Dot)):
        return tree
    copy: exp.Query = tree.copy()
    _read_fields(copy)
    # Predictions first: they hold the calls of regressions.
    named = _named_regressions(copy)
    for node in [one for one in copy.find_all(exp.Dot) if _is_prediction(one)]:
        _put(node, _prediction(node, named), "predict")
    for call in [one for one in copy.find_all(exp.Anonymous) if _is_call(one)]:
        whole, field = _field_of(_filtered(call))
        numbers = _numbers(_filtered(call), field)
        plain, name = (exp.Array(expressions=numbers), field) if field in _LISTS else (numbers[0], field)
        if (subscript := _subscript(whole)) is not None:
            whole, place = subscript
            if field not in _LISTS:
                hint = f"write ({_EXAMPLES[call.name.lower()]}).{field}"
                raise Refused(f"{field} is one number, and no array", hint=hint)
            plain = numbers[place - 1] if 0 < place <= len(numbers) else exp.Null()
        _put(whole, plain, name if isinstance(whole, exp.Dot | exp.Bracket) else call.name.lower())
    return copy


def bare_regressions(tree: exp.Query) -> exp.Query:
    """``tree``, changed: ``madlib.linregr(…)`` is ``linregr(…)``, and ``dpsql.pca(…)`` is ``pca(…)``. With a FILTER,
    the parser reads them as columns of a table. ``(r).*`` of one that is named is its fields."""
    for call in [one for one in tree.find_all(exp.Anonymous) if _is_call(one)]:
        whole = _filtered(call)
        around, schema = whole.parent, None
        if isinstance(around, exp.Dot) and around.expression is whole:
            schema = around.this
        elif isinstance(around, exp.Column):
            schema = around.args.get("table")
        own = "dpsql" if call.name.lower() == COMPONENTS else "madlib"
        if around is not None and isinstance(schema, exp.Identifier) and folded(schema) == own:
            around.replace(whole)
    return named_fields(tree)


def named_fields(tree: exp.Query) -> exp.Query:
    """``(…).*`` of a regression, or of one that a subquery in FROM has, as its fields, so that names outside mean them.

    >>> import sqlglot
    >>> text = "SELECT t.r2 FROM (SELECT (r).* FROM (SELECT LINREGR(y, ARRAY[1, x]) AS r FROM v) AS s) AS t"
    >>> named_fields(sqlglot.parse_one(text, read="postgres")).find(exp.Subquery).this.expressions[2].sql()
    '(r).r2 AS r2'
    """
    stars = [node for node in tree.find_all(exp.Dot) if isinstance(node.expression, exp.Star)]
    named = _named_regressions(tree) if stars else []
    for node in stars:
        record = node.this.unnest()
        known = _regression_named(record, named)
        word = _call_of(record).name.lower() if _is_call(_call_of(record)) else known.word if known else ""
        if word and (known is None or known.item is not None):
            fields = [(one, exp.to_identifier(one)) for one in _FIELDS[word]]
            _spread(node, [exp.alias_(exp.Dot(this=node.this.copy(), expression=end), one) for one, end in fields])
    return tree


def _is_call(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() in REGRESSIONS


def _is_prediction(node: exp.Expr) -> bool:
    """``dpsql.predict(…)``."""
    called = node.expression if isinstance(node, exp.Dot) else None
    return (
        isinstance(called, exp.Anonymous)
        and called.name.lower() == "predict"
        and isinstance(node.this, exp.Identifier)
        and folded(node.this) == "dpsql"
    )


def _read_fields(tree: exp.Query) -> None:
    """Write ``(r).r2`` of a regression that a subquery has as a column; let the subquery show what is read of it."""
    named = _named_regressions(tree)
    added = False
    for node in list(tree.find_all(exp.Dot)):
        record = node.this.unnest()
        known = _regression_named(record, named)
        if known is None or known.item is None:
            continue
        field, column = _known_field(node, known.word), record.copy()
        if field != _FIELDS[known.word][0]:
            column.set("this", exp.to_identifier(f"{known.column}.{field}", quoted=True))
            _show(known.item, field, column.name)
            added = True
        _put(node, column, field)
    if added and any(item.is_star for select in tree.find_all(exp.Select) for item in select.expressions):
        hint = "name the columns: SELECT t.region, (t.r).r2"
        raise Refused("SELECT * beside a field of a regression would show columns that nobody asked for", hint=hint)


def _show(item: exp.Expr, field: str, name: str) -> None:
    """Add a column with a field of the regression of ``item`` to its SELECT, where it is missing."""
    select = item.parent_select
    if select is None:
        raise AssertionError("an item stands in a SELECT")
    if not any(one.alias == name for one in select.expressions):
        call = exp.Paren(this=item.unalias().copy())
        select.append(
            "expressions", exp.alias_(exp.Dot(this=call, expression=exp.to_identifier(field)), name, quoted=True)
        )


def _spread(node: exp.Expr, fields: Sequence[exp.Expr]) -> None:
    """Put several items in the place of ``(…).*``."""
    own = node.parent if isinstance(node.parent, exp.Alias) else node
    select = own.parent
    if not isinstance(select, exp.Select) or own.arg_key != "expressions":
        raise Refused("(…).* are columns of a SELECT, and stand nowhere else", hint="name a field, as in (r).r2")
    items = [one for item in select.expressions for one in (fields if item is own else [item])]
    select.set("expressions", items)


def _known_field(dot: exp.Dot, word: str) -> str:
    field = folded(dot.expression) if isinstance(dot.expression, exp.Identifier) else dot.expression.name.lower()
    if not isinstance(dot.expression, exp.Identifier) or field not in _FIELDS[word]:
        raise Refused(
            f"a {'component' if word == COMPONENTS else 'regression'} has no {field}",
            hint=f"its fields are {', '.join(_FIELDS[word])}, as in ({_EXAMPLES[word]}).{_FIELDS[word][1]}",
            sqlstate="42703",
        )
    return field


def _filtered(call: exp.Expr) -> exp.Expr:
    """The call with its FILTER."""
    return call.parent if isinstance(call.parent, exp.Filter) and call.parent.this is call else call


def _call_of(node: exp.Expr) -> exp.Expr:
    """The call without its FILTER."""
    found: exp.Expr = node.this if isinstance(node, exp.Filter) else node
    return found


def _hint(call: exp.Expr) -> str:
    word = call.name.lower()
    if word == COMPONENTS:
        return f"write {_EXAMPLES[word]}, or dpsql.pca(ARRAY[a, b, c], 2) for the second component"
    return f"write {_EXAMPLES[word]}, where the constant 1 stands for the intercept"


def _field_of(node: exp.Expr) -> tuple[exp.Expr, str]:
    """``(node).field`` around it, and the field; the coefficients, where none is named."""
    around = _around_parentheses(node)
    if not isinstance(around.parent, exp.Dot) or around.parent.this is not around:
        return node, _FIELDS[_call_of(node).name.lower()][0]
    return around.parent, _known_field(around.parent, _call_of(node).name.lower())


def _around_parentheses(node: exp.Expr) -> exp.Expr:
    while isinstance(node.parent, exp.Paren):
        node = node.parent
    return node


def _subscript(whole: exp.Expr) -> tuple[exp.Expr, int] | None:
    """``whole[n]`` around it, and n."""
    node = _around_parentheses(whole)
    around = node.parent
    if not isinstance(around, exp.Bracket) or around.this is not node:
        return None
    index = around.expressions[0] if len(around.expressions) == 1 else None
    if not isinstance(index, exp.Literal) or not index.is_int:
        raise Refused(
            "the place of a number is written out, from 1 on", hint=f"write ({_EXAMPLES[_word(node)]}){_second(node)}"
        )
    return around, int(index.name)


def _word(node: exp.Expr) -> str:
    """The name of the regression in a node."""
    return next((one.name.lower() for one in node.find_all(exp.Anonymous) if _is_call(one)), "linregr")


def _second(node: exp.Expr) -> str:
    return f".{_FIELDS[_word(node)][0]}[2]"


def _numbers(filtered: exp.Expr, field: str) -> list[exp.Expr]:
    """One aggregate for each number of a field."""
    call = _call_of(filtered)
    y, elements = _arguments(call)
    places = range(1, len(elements) + 1) if field in _LISTS else range(1)
    found: list[exp.Expr] = []
    for place in places:
        head = [exp.Literal.string(field), exp.Literal.number(str(place))]
        parts = [y.copy(), *(one.copy() for one in elements)]
        one: exp.Expr = exp.AnonymousAggFunc(this=call.name.upper(), expressions=[*head, *parts])
        found.append(exp.Filter(this=one, expression=filtered.expression.copy()) if filtered is not call else one)
    return found


def _arguments(call: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    """y, and the elements of the array; of components, the number of one in the place of y."""
    arguments = call.expressions
    if call.name.lower() == COMPONENTS:
        return _component(call)
    if len(arguments) != 2 or (elements := _elements(arguments[1])) is None:
        raise Refused(f"{call.name.upper()} takes a number and an array of numbers", hint=_hint(call), sqlstate="42883")
    if not 0 < len(elements) <= MOST_REGRESSORS + 1:
        raise Refused(f"{call.name.upper()} takes an array of 1 to {MOST_REGRESSORS} regressors", hint=_hint(call))
    if call.find(exp.AggFunc) is not None or sum(map(_is_call, call.find_all(exp.Anonymous))) > 1:
        raise Refused("aggregates are not nested", hint=_hint(call), sqlstate="42803")
    return arguments[0], elements


def _component(call: exp.Expr) -> tuple[exp.Expr, list[exp.Expr]]:
    elements = _elements(call.expressions[0]) if len(call.expressions) in (1, 2) else None
    if elements is None:
        raise Refused("dpsql.pca takes an array of numbers, and which component", hint=_hint(call), sqlstate="42883")
    if not 1 < len(elements) <= MOST_REGRESSORS:
        raise Refused(f"dpsql.pca takes an array of 2 to {MOST_REGRESSORS} numbers", hint=_hint(call))
    if call.find(exp.AggFunc) is not None or sum(map(_is_call, call.find_all(exp.Anonymous))) > 1:
        raise Refused("aggregates are not nested", hint=_hint(call), sqlstate="42803")
    which = call.expressions[1] if len(call.expressions) > 1 else exp.Literal.number(1)
    if not isinstance(which, exp.Literal) or not which.is_int or not 0 < int(which.name) <= len(elements):
        raise Refused(f"these numbers have components 1 to {len(elements)}", hint=_hint(call), sqlstate="22023")
    return which, elements


def _elements(node: exp.Expr) -> list[exp.Expr] | None:
    while isinstance(node, exp.Paren):
        node = node.this
    return list(node.expressions) if isinstance(node, exp.Array) else None


@dataclass(frozen=True, slots=True)
class _NamedRegression:
    """The coefficients of a regression, as a column of a subquery or of a WITH; ``item`` shows all of it, if not them
    alone."""

    table: str
    column: str
    word: str
    size: int
    item: exp.Expr | None


def _named_regressions(tree: exp.Query) -> list[_NamedRegression]:
    """What subqueries and WITHs of a statement call the coefficients of regressions."""
    found = []
    for one in tree.find_all(exp.Subquery, exp.CTE):
        select = one.this.unnest() if isinstance(one.this, exp.Query) else None
        for item in select.expressions if isinstance(select, exp.Select) else ():
            inner = item.unalias()
            while isinstance(inner, exp.Paren) or (
                isinstance(inner, exp.Dot) and inner.expression.name.lower() == "coef"
            ):
                inner = inner.this
            call = _call_of(inner)
            if isinstance(select, exp.Select) and _is_call(call):
                name = item.alias or ("coef" if isinstance(item, exp.Dot) else call.name)
                size = len(_arguments(call)[1])
                renamed = one.alias_column_names or select.args.get("distinct")
                whole = None if isinstance(item.unalias().unnest(), exp.Dot) or renamed else item
                found.append(_NamedRegression(one.alias.lower(), name.lower(), call.name.lower(), size, whole))
    return found


def _regression_named(node: exp.Expr, named: list[_NamedRegression]) -> _NamedRegression | None:
    """The one whose coefficients a column is."""
    if not isinstance(node, exp.Column):
        return None
    select = node.parent_select
    tables = {one.alias_or_name.lower() for one in select.find_all(exp.Table, exp.Subquery)} if select else set()
    origins = {one.alias_or_name.lower(): one.name.lower() for one in select.find_all(exp.Table)} if select else {}
    wanted = origins.get(node.table.lower(), node.table.lower())
    found = [
        one
        for one in named
        if one.column == node.name.lower()
        and (one.table == wanted if wanted else one.table in tables | {*origins.values()})
    ]
    return found[0] if len(found) == 1 else None


def _prediction(node: exp.Expr, named: list[_NamedRegression]) -> exp.Expr:
    """The sum of the coefficients times the numbers."""
    arguments = node.expression.expressions
    if len(arguments) != 2 or (values := _elements(arguments[1])) is None:
        raise Refused("dpsql.predict takes coefficients and an array of numbers", hint=_PREDICT, sqlstate="42883")
    inner = arguments[0]
    while isinstance(inner, exp.Paren) or (isinstance(inner, exp.Dot) and inner.expression.name.lower() == "coef"):
        inner = inner.this
    call = _call_of(inner)
    if (known := _regression_named(inner, named)) is not None and known.word != COMPONENTS:
        _check_size(known.size, values)
        places = [exp.Literal.number(place) for place in range(1, known.size + 1)]
        terms = [exp.Bracket(this=inner.copy(), expressions=[place], offset=1) for place in places]
        return _predicted(terms, values, known.word)
    if not _is_call(call) or call.name.lower() == COMPONENTS:
        raise Refused("dpsql.predict takes the coefficients of a regression", hint=_PREDICT)
    numbers = _numbers(inner, "coef")
    _check_size(len(numbers), values)
    if all(number_of(value) is not None for value in values):
        one = numbers[0]
        aggregate = one.this if isinstance(one, exp.Filter) else one
        arguments = aggregate.expressions[2:]
        head = [exp.Literal.string("predict"), exp.Literal.number("0")]
        aggregate.set("expressions", [*head, *arguments, *(value.copy() for value in values)])
        return one
    return _predicted(numbers, values, call.name.lower())


def _check_size(coefficients: int, values: list[exp.Expr]) -> None:
    if coefficients != len(values):
        raise Refused(
            f"there are {coefficients} coefficients and {len(values)} numbers", hint=_PREDICT, sqlstate="22023"
        )


def _predicted(coefficients: Sequence[exp.Expr], values: list[exp.Expr], word: str) -> exp.Expr:
    terms = [
        exp.Mul(this=one, expression=exp.Paren(this=value.copy()))
        for one, value in zip(coefficients, values, strict=True)
    ]
    total: exp.Expr = terms[0]
    for term in terms[1:]:
        total = exp.Add(this=total, expression=term)
    if word == "logregr":
        odds = exp.Exp(this=exp.Neg(this=exp.Paren(this=total)))
        below = exp.Paren(this=exp.Add(this=exp.Literal.number(1), expression=odds))
        total = exp.Div(this=exp.Literal.number("1e0"), expression=below)
    return exp.Paren(this=total)


def _is_doubles(kind: exp.Expr) -> bool:
    """``float8[]``, which coefficients are."""
    items = kind.expressions if kind.this is exp.DType.ARRAY else []
    return len(items) == 1 and items[0].this is exp.DType.DOUBLE


def number_of(node: exp.Expr) -> Fraction | None:
    """The number that is written out; None for all else.

    >>> import sqlglot
    >>> [number_of(sqlglot.parse_one(text)) for text in ("-1.5", "CAST(2 AS INT)", "1 + 1")]
    [Fraction(-3, 2), Fraction(2, 1), None]
    """
    while isinstance(node, exp.Paren | exp.Cast):
        node = node.this
    if isinstance(node, exp.Neg):
        inner = number_of(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = Fraction(node.name)
    return number if abs(number) <= _LARGEST else None


def _put(whole: exp.Expr, plain: exp.Expr, name: str) -> None:
    whole = _around_parentheses(whole)
    cast = whole.parent
    if isinstance(plain, exp.Array) and isinstance(cast, exp.Cast) and _is_doubles(cast.to):
        whole = _around_parentheses(cast)
    is_item = isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions"
    whole.replace(exp.alias_(plain, name) if is_item else plain)
