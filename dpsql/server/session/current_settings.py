"""``current_setting(name)`` beside tables of the policy, and of names with a dot: the session's value as a literal.

Guarantee: a value is what this client set itself, so that the statement with it is one that the client could have
written. A name with a dot that nobody set is NULL where ``missing_ok`` is true, as in PostgreSQL; other names stay for
a refusal. Each other character of the text stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewriter.front_door import Lexeme, lexemes

_NAME = "CURRENT_SETTING"
_AFTER_LIST = frozenset({"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT", "OFFSET", "FETCH", "UNION"})


def with_settings(text: str, settings: Mapping[str, str]) -> str:
    """``text`` with the values of such calls.

    >>> with_settings("SELECT nullif(current_setting('a.b', true), ''), COUNT(*) FROM t", {"a.b": "it's"})
    "SELECT nullif(CAST('it''s' AS TEXT), ''), COUNT(*) FROM t"
    >>> with_settings("SELECT pg_catalog.current_setting('a.c', true), COUNT(*) FROM t", {})
    'SELECT CAST(NULL AS TEXT) AS current_setting, COUNT(*) FROM t'
    >>> with_settings("SELECT coalesce(x, current_setting('a', true), y), (SELECT current_setting('a'))", {"a": "z"})
    "SELECT coalesce(x, CAST('z' AS TEXT), y), (SELECT CAST('z' AS TEXT) AS current_setting)"
    >>> with_settings("SELECT current_setting('a.c'), 'current_setting(''a.c'', true)' FROM t", {})
    "SELECT current_setting('a.c'), 'current_setting(''a.c'', true)' FROM t"
    """
    if _NAME not in text.upper():
        return text
    words = list(lexemes(text))
    parts, position = [], 0
    items = _in_select_list(words)
    for place, lexeme in enumerate(words):
        if lexeme.word != _NAME or [one.text for one in words[place + 1 : place + 2]] != ["("]:
            continue
        end = next((after for after in range(place + 2, len(words)) if words[after].text == ")"), len(words))
        value = _value(words[place + 2 : end], settings)
        if end == len(words) or value is None:
            continue
        first = place - 2 if [one.text.lower() for one in words[place - 2 : place]] == ["pg_catalog", "."] else place
        begins = first > 0 and words[first - 1].text.upper() in ("SELECT", ",")
        ends = end + 1 == len(words) or words[end + 1].text.upper() in (",", "FROM", ")", ";")
        parts += [text[position : words[first].start], value]
        parts += [" AS current_setting"] if items[place] and begins and ends else []
        position = words[end].end
    return "".join([*parts, text[position:]])


def _in_select_list(words: Sequence[Lexeme]) -> list[bool]:
    """Whether each lexeme stands in the list of a SELECT, and in no parentheses there."""
    levels, found = [False], []
    for lexeme in words:
        if lexeme.text == "(":
            levels.append(False)
        elif lexeme.text == ")" and len(levels) > 1:
            levels.pop()
        elif lexeme.word == "SELECT":
            levels[-1] = True
        elif lexeme.word in _AFTER_LIST:
            levels[-1] = False
        found.append(levels[-1])
    return found


def own_settings(settings: Mapping[str, str]) -> Mapping[str, str]:
    """Those that only this client knows, since their names have a dot: PostgreSQL has the others."""
    return {name: value for name, value in settings.items() if "." in name}


def _value(arguments: Sequence[Lexeme], settings: Mapping[str, str]) -> str | None:
    """The literal of a setting's value; None where the call is not of a literal name, or the setting is not known."""
    texts = [one.text for one in arguments]
    is_name = bool(texts) and texts[0][:1] in ("'", "E", "e") and texts[0][-1:] == "'"
    rest = [text.lower() for text in texts[1:]]
    if not is_name or rest not in ([], [",", "true"], [",", "false"]):
        return None
    name = arguments[0].value.lower()
    value = settings.get(name)
    if value is not None:
        doubled = value.replace("'", "''")
        return None if "\\" in value else f"CAST('{doubled}' AS TEXT)"
    return "CAST(NULL AS TEXT)" if "." in name and rest == [",", "true"] else None
