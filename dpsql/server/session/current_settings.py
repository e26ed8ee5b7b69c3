"""``current_setting(name)`` beside tables of the policy: the session's own value, written into the text as a literal.

Guarantee: a value is what this client set itself, so that the statement with it is one that the client could have
written. A name with a dot that nobody set is NULL where ``missing_ok`` is true, as in PostgreSQL; other names stay for
a refusal. Each other character of the text stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

from rewriter.front_door import lexemes

_NAME = "CURRENT_SETTING"


def with_settings(text: str, settings: Mapping[str, str]) -> str:
    """``text`` with the values of such calls.

    >>> with_settings("SELECT nullif(current_setting('a.b', true), ''), COUNT(*) FROM t", {"a.b": "it's"})
    "SELECT nullif(CAST('it''s' AS TEXT), ''), COUNT(*) FROM t"
    >>> with_settings("SELECT pg_catalog.current_setting('a.c', true), COUNT(*) FROM t", {})
    'SELECT CAST(NULL AS TEXT) AS current_setting, COUNT(*) FROM t'
    >>> with_settings("SELECT current_setting('a.c'), 'current_setting(''a.c'', true)' FROM t", {})
    "SELECT current_setting('a.c'), 'current_setting(''a.c'', true)' FROM t"
    """
    if _NAME not in text.upper():
        return text
    words = list(lexemes(text))
    parts, position = [], 0
    for place, lexeme in enumerate(words):
        if lexeme.word != _NAME or [one.text for one in words[place + 1 : place + 2]] != ["("]:
            continue
        end = next((after for after in range(place + 2, len(words)) if words[after].text == ")"), len(words))
        arguments = words[place + 2 : end]
        value = _value([one.value for one in arguments], [one.text for one in arguments], settings)
        if end == len(words) or value is None:
            continue
        first = (
            place - 2 if [one.word or one.text for one in words[place - 2 : place]] == ["PG_CATALOG", "."] else place
        )
        before = words[first - 1].word or words[first - 1].text if first else ""
        after = words[end + 1].word or words[end + 1].text if end + 1 < len(words) else ""
        is_item = before in ("SELECT", ",") and after in (",", "FROM")
        parts += [text[position : words[first].start], value, " AS current_setting" if is_item else ""]
        position = words[end].end
    return "".join([*parts, text[position:]])


def _value(values: list[str], texts: list[str], settings: Mapping[str, str]) -> str | None:
    """The literal of a setting's value; None where the call is not of a literal name, or the setting is not known."""
    is_name = bool(texts) and texts[0][:1] in ("'", "E", "e") and texts[0][-1:] == "'"
    rest = [text.lower() for text in texts[1:]]
    if not is_name or rest not in ([], [",", "true"], [",", "false"]):
        return None
    name = values[0].lower()
    value = settings.get(name)
    if value is not None:
        doubled = value.replace("'", "''")
        return None if "\\" in value else f"CAST('{doubled}' AS TEXT)"
    return "CAST(NULL AS TEXT)" if "." in name and rest == [",", "true"] else None
