"""Bugs of Spark's engine and words that die without a Spark: states of files, staging, sums, times, SELECT alone."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

SPARK, FUNCTIONS = "tests/engines/test_spark.py", "tests/engines/test_spark_functions.py"
STATES = f"{SPARK}::test_what_changed_before_or_while_a_statement_ran_is_told_by_a_second_look"
ONE_STATE = "dpsql.engines.spark.spark_engine:SparkEngine._on_one_state"
TIMES = "rewriter/dialects/spark_time_format.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "a table without files has not changed",
        "dpsql.engines.spark.spark_engine:SparkEngine._every_file",
        "        raise FilesChanged\n",
        "        return frozenset()\n",
        "tests/engines/test_spark.py::test_a_table_that_does_not_show_its_files_is_refused_before_it_is_served",
    ),
    bug(
        "a table without files is served",
        "dpsql.engines.spark.spark_engine:SparkEngine._unreadable",
        "return _WITHOUT_FILES",
        "return None",
        "tests/engines/test_spark.py::test_a_table_that_does_not_show_its_files_is_refused_before_it_is_served",
    ),
    bug(
        "files that changed since an earlier statement are not looked at again",
        ONE_STATE,
        "if earlier == self._states(line, tables):",
        "if earlier is not None:",
        STATES,
    ),
    bug(
        "files that change while a statement runs give an answer",
        ONE_STATE,
        "        if before != self._states(line, tables):\n            raise FilesChanged\n",
        "",
        STATES,
    ),
    bug(
        "the work is not done again where files changed before it",
        ONE_STATE,
        "        before = self._states(line, tables)\n        found = work()\n",
        "        before = self._states(line, tables)\n        found = work() if earlier is None else found\n",
        STATES,
    ),
    bug(
        "files of a table that is joined are not looked at",
        "dpsql.engines.spark.spark_engine:_tables_of",
        "(TokenType.FROM, TokenType.JOIN, TokenType.COMMA)",
        "(TokenType.FROM,)",
        f"{SPARK}::test_tables_are_found_by_their_quoted_names",
    ),
    bug(
        "anything that begins with WITH is sent",
        "dpsql.engines.spark.spark_session:SparkLine._only_reads",
        "(TokenType.SEMICOLON, TokenType.INSERT)",
        "(TokenType.SEMICOLON,)",
        f"{SPARK}::test_nothing_but_a_select_is_sent",
    ),
    bug(
        "a part that is read twice is computed twice",
        "dpsql.engines.spark.staged_ctes:staged",
        "_readers(part.name, tokens[part.end :]) > 1",
        "False",
        f"{SPARK}::test_what_several_read_is_computed_once",
    ),
    bug(
        "a column of a part counts as a reader of it",
        "dpsql.engines.spark.staged_ctes:_readers",
        "        and after.token_type is not TokenType.DOT\n",
        "",
        f"{SPARK}::test_a_column_of_a_part_is_no_reader_of_it",
    ),
    bug(
        "sums of integers do not widen",
        "rewriter.dialects.spark:Spark.sum",
        "Type(Kind.INTEGER, bits=128) if type_.kind is Kind.INTEGER else type_",
        "type_",
        "rewriter/dialects/spark.py",
    ),
    bug(
        "doubles are cut off where they become steps",
        "rewriter.dialects.spark:Spark.to_steps",
        '        steps.set("this", self._rounded(steps.this, decimal(38, 0) if is_decimal else DOUBLE))\n',
        "",
        "rewriter/dialects/spark.py",
    ),
    Bug(
        "a field of times that Java has not is printed as one that it has",
        "rewriter.dialects.spark_time_format:_letters",
        (
            ("if field.letter not in _LETTERS:", "if not field.letter:"),
            ("_LETTERS[field.letter]", '_LETTERS.get(field.letter, "yyyy")'),
        ),
        (f"{FUNCTIONS}::test_a_field_of_times_that_java_writes_in_another_way_is_refused",),
    ),
    bug(
        "brackets between fields of times are Java's",
        "rewriter.dialects.spark_time_format:_quoted",
        'return "\'" + between.replace("\'", "\'\'") + "\'" if between else ""',
        "return between",
        TIMES,
    ),
    bug(
        "a group that is repeated is searched for",
        "rewriter.dialects.java_patterns:java_pattern",
        'elif char == ")" and pattern[index + 1 : index + 2] in tuple("*+?{"):',
        "elif False:",
        f"{FUNCTIONS}::test_a_pattern_that_takes_long_is_refused",
    ),
)
