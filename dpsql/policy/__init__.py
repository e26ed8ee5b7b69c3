"""The owner's policy file."""

from dpsql.policy.check_policy import problems
from dpsql.policy.declared_catalog import catalog, declared_columns, fit
from dpsql.policy.fields import MostRows, Place, ahead, most_rows
from dpsql.policy.first_database import database_to_write
from dpsql.policy.guessed_keys import with_guessed_keys
from dpsql.policy.other_people import Agreement
from dpsql.policy.owner_answers import EACH_ROW, OwnerAnswers, asked_bounds, asked_unit
from dpsql.policy.policy import (
    BOUNDS,
    AnalystSection,
    LimitsSection,
    Policy,
    StatementSection,
    TableSection,
    WorkloadSection,
)
from dpsql.policy.problem import Kind, PolicyError, Problem, join
from dpsql.policy.proposal import first_policy, named_like_keys, people_tables, units
from dpsql.policy.secrets import DATABASE, LEDGER, METRICS, secret, with_secret
from dpsql.policy.undeclared_people import unsaid
from dpsql.policy.unique_keys import Claim
from dpsql.policy.unit_path import key_of, steps_of
from dpsql.policy.yaml_text import Written
from dpsql.policy.yaml_text import read as yaml_tree

__all__ = [
    "BOUNDS",
    "DATABASE",
    "EACH_ROW",
    "LEDGER",
    "METRICS",
    "Agreement",
    "AnalystSection",
    "Claim",
    "Kind",
    "LimitsSection",
    "MostRows",
    "OwnerAnswers",
    "Place",
    "Policy",
    "PolicyError",
    "Problem",
    "StatementSection",
    "TableSection",
    "WorkloadSection",
    "Written",
    "ahead",
    "asked_bounds",
    "asked_unit",
    "catalog",
    "database_to_write",
    "declared_columns",
    "first_policy",
    "fit",
    "join",
    "key_of",
    "most_rows",
    "named_like_keys",
    "people_tables",
    "problems",
    "secret",
    "steps_of",
    "units",
    "unsaid",
    "with_guessed_keys",
    "with_secret",
    "yaml_tree",
]
