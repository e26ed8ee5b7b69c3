"""Every place that raises and that a charged statement may pass, with the reason why it does not raise sooner.

A place is a definition with the number of ``raise`` statements in it. ``test_nothing_in_vain.py`` fails where one is not
listed: whoever adds one says first why it cannot come before the charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

AFTER_A_CHARGE = (
    "answer.py", "read.py", "perturb.py", "error_border.py", "reply.py", "watched.py", "stages.py", "purchases.py",
    "engines/sql_engine.py", "engines/exact_table.py", "engines/known_groups.py", "engines/failures.py",
    "engines/deadlines.py", "engines/turns.py", "engines/listed_files.py", "engines/duckdb", "engines/postgres",
    "engines/spark", "finish", "inference", "sandbox", "releases", "calibrate", "mechanisms", "prepare", "reuse", "price",
)  # fmt: skip
"""The files and folders of ``dpsql`` that a statement passes once its first charge was made."""


class Reason(StrEnum):
    BEFORE = "it does come before: at opening, or in Opened.state and Opened.turn, before the charge"
    PLANNED = (
        "it comes before the charge of its own stage; for a later stage than the first it hangs on what was released"
        " for it, and the draft of that stage was planned, priced and checked against the budget before the first charge"
    )
    READING = (
        "the database, its files or the time may fail while rows are read: it answered on the connection that is held,"
        " and the files were those of the reuse key, right before the charge"
    )
    SHAPE = "the engine's rows are looked at: what the plan's SQL gives is known by golden SQL and by the contract test"
    RELEASED = (
        "it follows from released numbers, or from the time and memory that they take: the same SELECT ran without rows"
        " and with all of its constants before the charge; where a value has no result, NULL is answered instead"
    )
    KEPT = "it never leaves the store: a release that cannot be kept or read is a word to the owner"
    BORDER = "it says what another place has raised"
    OURS = "an invariant of ours that no text, policy or row can break: a bug, to be fixed where it is"


PLACES: Mapping[Reason, Mapping[str, str]] = {
    Reason.BEFORE: {
        "dpsql.watched": "watched_statement:2 _check_groups:2 Watching._asking:1",
        "dpsql.engines.sql_engine": "SQLEngine._one_row:1 SQLEngine.ready:1",
        "dpsql.engines.deadlines": "Patience.check:2 Patience.pay:1",
        "dpsql.engines.listed_files": "ListedFiles.kind:1 ListedFiles.snapshot:1 _expanded:2 _plain:3",
        "dpsql.engines.duckdb.duckdb_engine": "DuckDBEngine._opened:1 DuckDBEngine._renewed:3 DuckDBEngine.open:2 DuckDBEngine.ready:1 _watched:1",
        "dpsql.engines.duckdb.file_views": "_check_declared:2 _columns:1 _first_line:1 _known:1 _numbered:1 _view:1 readable_rows:1",
        "dpsql.engines.postgres.postgres_connection": "check:3",
        "dpsql.engines.postgres.postgres_engine": "PostgresEngine.open:1",
        "dpsql.engines.spark.spark_engine": "SparkEngine.open:2",
        "dpsql.engines.spark.spark_session": "_client:1 connect:1",
        "dpsql.sandbox.sandbox": "Sandbox.load_public:2 _described:1",
        "dpsql.releases.arrow_types": "try_arrow:1 _NoPandas.find_spec:1",
        "dpsql.releases.store": "ReleaseStore._forget:1 ReleaseStore.forget:1 ReleaseStore.open:1",
    },
    Reason.PLANNED: {
        "dpsql.calibrate.calibration": "Calibration.__post_init__:5 _check_price:2 _check_sizes:1 _select:2 affordable:2 calibrate:1 measure:1",
        "dpsql.calibrate.mode_pick": "Modal.__post_init__:1",
        "dpsql.calibrate.picks": "picked:1",
        "dpsql.calibrate.quantile_picks": "Joined.__post_init__:3 OneByOne.__post_init__:3",
        "dpsql.calibrate.sort_or_pick": "_estimator:1 _top:1 _way:1",
        "dpsql.prepare.earlier": "_prepared:2",
        "dpsql.prepare.prepared": "_shown:1",
        "dpsql.price.learn_bounds": "_with:1",
        "dpsql.price.pricing": "Pricing._epsilon:1 Pricing._of_one_step:1 Pricing._series:1 Pricing.most:1 Pricing.settled:1",
    },
    Reason.READING: {
        "dpsql.engines.sql_engine": "SQLEngine._call:3",
        "dpsql.engines.listed_files": "WatchedFiles.check:1",
        "dpsql.engines.postgres.line": "Interruption.watch:1",
        "dpsql.engines.postgres.postgres_engine": "PostgresEngine._answer:1 PostgresEngine._verify:1",
        "dpsql.engines.spark.spark_engine": "SparkEngine._answer:1 SparkEngine._columns:1 SparkEngine._every_file:1 SparkEngine._on:1 SparkEngine._on_one_state:1",
        "dpsql.engines.spark.spark_session": "SparkLine._check:1",
    },
    Reason.SHAPE: {
        "dpsql.engines.exact_table": "_boolean:1 _date:1 _decimal:1 _double:1 _integer:1 _integers:1 _more:1 _null:1 _order:2 _text:1 _time:1 _whole:1 exact_table:1 ranks_of:2 read_table:1 read_tables:2",
        "dpsql.engines.known_groups": "inhabited_table:2 known_groups:1",
    },
    Reason.RELEASED: {
        "dpsql.sandbox.sandbox": "Sandbox._call:1 Sandbox.answer:1 Sandbox.run:1 _check_length:1",
    },
    Reason.KEPT: {
        "dpsql.releases.store": "ReleaseStore._safely:1 _connect:1 _read:1 _tagged:1",
    },
    Reason.BORDER: {
        "dpsql.error_border": "translated.wrapper:3",
    },
    Reason.OURS: {
        "dpsql.perturb": "_checked:3 perturb:1",
        "dpsql.reuse.divided_marginals": "_component:2 divided_estimate:1",
        "dpsql.reuse.completed": "Completion.finished:1",
        "dpsql.reuse.offers": "Reuse.made:1",
        "dpsql.reuse.tiles": "BoughtMember.noise:1 Lattice.__post_init__:2 Lattice.law:1",
        "dpsql.engines.turns": "Load.take:1",
        "dpsql.reply": "Answer.remaining:1",
        "dpsql.engines.duckdb.duckdb_engine": "_Cursor._only_reads:1",
        "dpsql.engines.postgres.line": "Line.execute:1",
        "dpsql.engines.spark.spark_session": "SparkLine._only_reads:2",
        "dpsql.engines.spark.staged_ctes": "_closing:1",
        "dpsql.finish.present_groups": "_exceeds:1 _rows_of:1",
        "dpsql.finish.propagate": "Sources._marks_of_total:1 _estimator:2 _joint:1",
        "dpsql.inference.consistency.evidence": "Measurements.__post_init__:1",
        "dpsql.inference.estimates.moment_figures": "_known:1",
        "dpsql.inference.estimates.picked_quantiles": "ReleasedJoint.ends:1",
        "dpsql.inference.estimates.rounding": "quotients:1",
        "dpsql.inference.estimates.told_means": "MeansProfile.of:1",
        "dpsql.inference.numeric.arrays": "checked_parents:4 checked_slack:1 measurements:4",
        "dpsql.inference.numeric.groupings": "checked_groupings:3",
        "dpsql.inference.numeric.largest_remainder": "apportion:2 round_lattice:2 round_tree:1",
        "dpsql.inference.numeric.least_squares": "check_reach:1",
        "dpsql.inference.numeric.projection": "monotone:2 nonnegative_lattice:1 simplex:3",
        "dpsql.sandbox.prepared_selects": "TablePlace.__arrow_c_stream__:1",
        "dpsql.releases.integer_column": "IntegerColumn.plus:1",
        "dpsql.releases.tables": "NoisyTable.beside:1",
        "dpsql.releases.value_column": "ColumnarRows.__getitem__:1 rounded:1",
        "dpsql.mechanisms.gaussian": "Gaussian.calibrated:1 sqrt_at_least:1",
        "dpsql.mechanisms.laplace": "Laplace.calibrated:1 Laplace.loss:1",
        "dpsql.mechanisms.highest_score": "HighestScore.__post_init__:1",
        "dpsql.mechanisms.quantiles.one": "Exponential.__post_init__:1 Quantile.__post_init__:1 unit_weight:1",
        "dpsql.mechanisms.quantiles.pick": "paid_mechanism:1",
        "dpsql.mechanisms.quantiles.roundness": "Roundness.at:1",
        "dpsql.mechanisms.quantiles.several": "Joint.__post_init__:2",
        "dpsql.mechanisms.quantiles.spread": "Around.__post_init__:1",
        "dpsql.mechanisms.sampling.exponential": "Powers.at:1 happens.bounds:1 least_first:1",
        "dpsql.mechanisms.sampling.permute_and_flip": "permute_and_flip:1",
        "dpsql.mechanisms.sampling.sampler": "check_scale:1 float_at_least:1",
        "dpsql.mechanisms.sampling.vector_draws": "_of_floats:1 first_bits:1",
        "dpsql.mechanisms.threshold": "Threshold.__post_init__:1 _whole:1",
        "dpsql.mechanisms.top_k": "TopK.__post_init__:1",
    },
}
