"""Tables that are files: a view over the exact files of each, in a database of their own.

Guarantee: no row decides what a table looks like. The columns of a Parquet file are those that it declares; those of a
CSV file are named by its first line, and are texts unless the owner says their types: a value that is none of its type
is NULL, and so is a text that the owner says to stand for it. What separates the fields is fixed, and not guessed
from the rows. Where rows are people, each has its place in the files as its number: two rows never have the same one.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping, Sequence

import duckdb
from sqlglot import exp

from dpsql.engines.lake_tables import LakeFiles, LakeVersion
from dpsql.engines.listed_files import ListedFiles
from dpsql.engines.names import match, suggestion
from dpsql.errors import OperationalError
from rewriter.declared import TEXT, Type
from rewriter.dialects import DUCKDB, call, named_table, text

ROW_NUMBER = "rowid"
"""The column of rows that are numbered: it is called as what tells the rows of DuckDB's own tables apart."""
_SEPARATORS = {"csv": ",", "tsv": "\t"}


def write_views(path: str, tables: Mapping[str, tuple[ListedFiles, Sequence[str]]], config: Mapping[str, str]) -> None:
    """Make the database at ``path`` with a view for each table over its exact files. Raises OperationalError."""
    with duckdb.connect(path, config=dict(config)) as connection:
        for name, (listed, files) in tables.items():
            view = _view(connection, name, listed, files)
            if listed.numbered:
                view = _numbered(name, view, _names(connection, view))
            created = exp.Create(
                this=exp.Table(this=exp.to_identifier(name, quoted=True)), kind="VIEW", expression=view
            )
            connection.execute(created.sql("duckdb"))


def readable_rows(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Read all fields of a CSV file's rows once: a line that is no row of the file is found before anything is charged.

    Raises :class:`OperationalError`, whose text is for the owner, and has no value of a row.
    """
    try:
        connection.execute(exp.select("COUNT(COLUMNS(*))").from_(_quoted(name)).sql("duckdb")).fetchall()
    except duckdb.Error as error:
        problem = type(error).__name__
    else:
        return
    raise OperationalError(
        f"the files of {name} cannot be read to their ends: {problem}",
        sqlstate="58030",
        hint='each line has as many fields as the first, and a field with a separator in it stands in "…"',
    )


def _view(connection: duckdb.DuckDBPyConnection, name: str, listed: ListedFiles, files: Sequence[str]) -> exp.Select:
    if (version := listed.snapshot()) is not None:
        _check_declared(name, listed)
        return _view_of_lake(version)
    kind = listed.kind()
    columns = [_columns(connection, kind, path, name) for path in files]
    for path, found in zip(files, columns, strict=True):
        if found != columns[0]:
            raise OperationalError(
                f"{path} has other columns than {files[0]}, and both are files of {name}",
                sqlstate="42804",
                hint="name files that have the same columns, of the same types, or make two tables of them",
            )
    if kind == "parquet":
        _check_declared(name, listed)
        return exp.select("*").from_(exp.Table(this=call("read_parquet", _list(files))), copy=False)
    names = list(columns[0])
    types = {_known(name, column, names): type_ for column, type_ in listed.types.items()}
    items = [_field(one, types.get(one, TEXT), listed.nulls) for one in names]
    return exp.select(*items).from_(exp.Table(this=_csv(kind, files, names)), copy=False)


def _names(connection: duckdb.DuckDBPyConnection, view: exp.Select) -> list[str]:
    return [row[0] for row in connection.execute(f"DESCRIBE {view.sql('duckdb')}").fetchall()]


def _numbered(name: str, view: exp.Select, names: Sequence[str]) -> exp.Select:
    """The rows of a view, each with its number. Raises OperationalError where a column has the number's name."""
    if ROW_NUMBER in map(str.lower, names):
        raise OperationalError(
            f"the files of {name} have a column {ROW_NUMBER}, and their rows are people by their numbers",
            sqlstate="42701",
            hint="give the column another name, or name a key of the people as privacy_unit",
        )
    number = exp.Window(this=exp.RowNumber())
    return exp.select(exp.alias_(number, ROW_NUMBER), "*").from_(view.subquery("t"), copy=False)


def _check_declared(name: str, listed: ListedFiles) -> None:
    """Files that say what their columns hold are not told it by the owner."""
    if listed.types:
        raise OperationalError(
            f"the files of {name} declare the types of their columns",
            sqlstate="42804",
            hint=f"take type: away from {', '.join(listed.types)}",
        )
    if listed.nulls:
        raise OperationalError(
            f"the files of {name} say themselves what is NULL",
            sqlstate="42804",
            hint="take nulls: away: it is for CSV files",
        )


def _view_of_lake(version: LakeVersion) -> exp.Select:
    """The rows of a version: each part's columns under the table's names, with its types, NULL where it lacks one."""
    selects = [_of_part(part) for part in version.parts]
    if len(selects) == 1:
        return selects[0]
    every: exp.Query = selects[0]
    for one in selects[1:]:
        every = exp.Union(this=every, expression=one, distinct=False)
    return exp.select("*").from_(
        exp.Subquery(this=every, alias=exp.TableAlias(this=exp.to_identifier("t"))), copy=False
    )


def _of_part(part: LakeFiles) -> exp.Select:
    items = []
    for column in part.columns:
        value: exp.Expr = exp.Null() if column.stored is None else exp.column(column.stored, quoted=True)
        if column.type is not None:
            value = exp.Cast(this=value, to=exp.DataType.build(column.type, dialect="duckdb"))
        items.append(exp.alias_(value, column.name, quoted=True))
    options = [exp.EQ(this=exp.column("hive_partitioning"), expression=exp.Boolean(this=bool(part.partitions)))]
    if part.partitions:
        types = [exp.PropertyEQ(this=text(name), expression=text(kind)) for name, kind in part.partitions.items()]
        options.append(exp.EQ(this=exp.column("hive_types"), expression=exp.Struct(expressions=types)))
    return exp.select(*items).from_(exp.Table(this=call("read_parquet", _list(part.paths), *options)), copy=False)


def _field(name: str, type_: Type, nulls: Sequence[str]) -> exp.Expr:
    """The value of a field, which is NULL where its text is one of ``nulls``."""
    value: exp.Expr = exp.column(name, quoted=True)
    for one in nulls:
        value = exp.Nullif(this=value, expression=text(one))
    if type_ != TEXT:
        value = DUCKDB.try_cast(value, type_, TEXT)
    return exp.alias_(value, name, quoted=True)


def _known(table: str, column: str, names: Sequence[str]) -> str:
    found = match(column, names)
    if found is None:
        hint = suggestion(column, names)
        raise OperationalError(f"the files of {table} have no column {column}", sqlstate="42703", hint=hint)
    return found


def _columns(connection: duckdb.DuckDBPyConnection, kind: str, path: str, table: str) -> dict[str, str]:
    """The columns of one file, with their types. Of a CSV file its first line alone counts."""
    query = exp.select("*").from_(exp.Table(this=call("read_parquet", _list([path]))), copy=False)
    try:
        if kind != "parquet":
            return dict.fromkeys(_first_line(path, _SEPARATORS[kind]), "VARCHAR")
        return {row[0]: row[1] for row in connection.execute(f"DESCRIBE {query.sql('duckdb')}").fetchall()}
    except (duckdb.Error, OSError, ValueError, csv.Error) as error:
        problem = type(error).__name__
    raise OperationalError(
        f"{path}, a file of {table}, cannot be read: {problem}",
        sqlstate="58030",
        hint=f"does DuckDB {duckdb.__version__} read it? The first line of a CSV file names its columns, each once; the"
        " first name may be empty",
    )


def _first_line(path: str, separator: str) -> list[str]:
    """The names of the columns. Raises ValueError where one has none, or two have the same.

    Only the first may be empty, as R and pandas write it above row names. It is column0 then, as in DuckDB.
    """
    opened = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=separator, strict=True), [])
    if names[1:] and not names[0]:
        names[0] = "column0"
    if not names or not all(names) or len({name.lower() for name in names}) < len(names):
        raise ValueError
    return names


def _csv(kind: str, files: Sequence[str], names: Sequence[str]) -> exp.Expr:
    """Rows of texts, separated as RFC 4180 has it. A field that is empty and not quoted is NULL."""
    options: Mapping[str, exp.Expr] = {
        "header": exp.true(),
        "auto_detect": exp.false(),
        "columns": exp.Struct(
            expressions=[exp.PropertyEQ(this=text(name), expression=text("VARCHAR")) for name in names]
        ),
        "delim": text(_SEPARATORS[kind]),
        "quote": text('"'),
        "escape": text('"'),
        "comment": text(""),
        "allow_quoted_nulls": exp.false(),
        "strict_mode": exp.true(),
    }
    given = [exp.EQ(this=exp.column(name), expression=value) for name, value in options.items()]
    return call("read_csv", _list(files), *given)


def _list(paths: Sequence[str]) -> exp.Expr:
    return exp.Array(expressions=[text(path) for path in paths])


def _quoted(name: str) -> exp.Table:
    table = named_table(name)
    table.this.set("quoted", True)
    return table
