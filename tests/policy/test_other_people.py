"""Rows about two people: each needs the owner's word, wherever the second one comes from."""

from __future__ import annotations

import pytest

from dpsql.engines.postgres.postgres_engine import PostgresEngine
from dpsql.engines.schema import ForeignKey, Schema, SchemaColumn, SchemaTable
from dpsql.policy.check_policy import problems
from dpsql.policy.declared_catalog import catalog
from dpsql.policy.owner_answers import OwnerAnswers
from dpsql.policy.policy import Policy
from dpsql.policy.problem import PolicyError
from dpsql.policy.proposal import first_policy
from rewriter.declared.catalog import Hop
from rewriter.declared.types import INTEGER, TEXT
from tests.engines.postgres_server import READER, shared_server

HEAD = """
database: duckdb:people.duckdb
ledger: sqlite:people.ledger
privacy_unit: person.id
budget: {epsilon: 10, delta: 1e-6}
tables:
"""


def table(name: str, columns: str, *references: str, key: str = "id") -> SchemaTable:
    """Columns of whole numbers; ``note`` is a text. A reference is ``a -> t.b`` or ``a, b -> t.c, d``."""
    names = columns.split()
    keys = []
    for reference in references:
        own, target = reference.split(" -> ")
        parent, _, theirs = target.partition(".")
        keys.append(ForeignKey(tuple(own.split(", ")), parent, tuple(theirs.split(", "))))
    return SchemaTable(
        name,
        {
            one: SchemaColumn(one, "VARCHAR" if one == "note" else "INTEGER", TEXT if one == "note" else INTEGER, True)
            for one in names
        },
        primary_key=(key,) if key in names else (),
        foreign_keys=tuple(keys),
    )


def schema(*tables: SchemaTable) -> Schema:
    return Schema({one.name: one for one in tables})


PERSON = table("person", "id age")
MESSAGE = table("message", "id sender receiver note", "sender -> person.id", "receiver -> person.id")


def errors(tables: str, database: Schema) -> dict[str, str]:
    policy = Policy.parse(HEAD + tables)
    found = {p.path: p.message for p in problems(policy, database) if p.severity == "error"}
    if found:
        with pytest.raises(PolicyError):
            catalog(policy, database)
    else:
        catalog(policy, database)
    return found


# The second foreign key of a table


def test_a_row_of_two_people_needs_the_owners_word() -> None:
    found = errors(
        "  person: {}\n  message: {unit: sender -> person.id, max_rows: 9, columns: {receiver: {}, note: {}}}",
        schema(PERSON, MESSAGE),
    )
    assert found.keys() == {"tables.message.columns.receiver"}
    for said in ("about two people", "as that of sender alone", "Leave receiver out", "receiver: {owner: public}"):
        assert said in found["tables.message.columns.receiver"]


@pytest.mark.parametrize(
    "columns", ["receiver: {owner: public}, note: {}", "note: {}", "Sender: {}, RECEIVER: {owner: public}"]
)
def test_that_word_is_public_or_nothing_at_all(columns: str) -> None:
    tables = f"  person: {{}}\n  message: {{unit: sender -> person.id, max_rows: 9, columns: {{{columns}}}}}"
    assert errors(tables, schema(PERSON, MESSAGE)) == {}
    known = catalog(Policy.parse(HEAD + tables), schema(PERSON, MESSAGE)).tables["message"]
    assert ("receiver" in known.columns) == ("receiver" in columns.lower())


def test_the_person_of_the_row_cannot_be_called_public() -> None:
    found = errors(
        "  person: {}\n  message: {unit: sender -> person.id, max_rows: 9, columns: {sender: {owner: public}}}",
        schema(PERSON, MESSAGE),
    )
    assert "that person is protected" in found["tables.message.columns.sender.owner"]


def test_two_ways_are_not_chosen_between_but_by_the_owners_word() -> None:
    database = schema(PERSON, MESSAGE)
    assert (
        "2 foreign keys lead to person.id"
        in errors("  person: {}\n  message: {max_rows: 9}", database)["tables.message"]
    )
    open_ = "  person: {}\n  message: {max_rows: 9, columns: {receiver: {owner: public}}}"
    assert errors(open_, database) == {}
    assert catalog(Policy.parse(HEAD + open_), database).tables["message"].path == (
        Hop("sender", "person", "id", enforced=True),
    )


@pytest.mark.parametrize(
    ("others", "tables", "path"),
    [
        # People who refer to people.
        (
            [table("person", "id boss age", "boss -> person.id")],
            "  person: {columns: {boss: {}, age: {}}}",
            "tables.person.columns.boss",
        ),
        # By several steps, the steps declared or not.
        (
            [PERSON, table("post", "id author", "author -> person.id"),
             table("reply", "id author post", "author -> person.id", "post -> post.id")],
            "  person: {}\n  post: {max_rows: 3}\n"
            "  reply: {unit: author -> person.id, max_rows: 9, columns: {post: {}}}",
            "tables.reply.columns.post",
        ),
        (
            [PERSON, table("post", "id author", "author -> person.id"),
             table("reply", "id author post", "author -> person.id", "post -> post.id")],
            "  person: {}\n  reply: {unit: author -> person.id, max_rows: 9, columns: {post: {}}}",
            "tables.reply.columns.post",
        ),
        # To itself, which is somebody else's row.
        (
            [PERSON, table("post", "id author answers", "author -> person.id", "answers -> post.id")],
            "  person: {}\n  post: {unit: author -> person.id, max_rows: 3, columns: {answers: {}}}",
            "tables.post.columns.answers",
        ),
        # By a key of two columns, one of which is the person's: another person's row all the same.
        (
            [PERSON, table("seat", "id holder row", "holder -> person.id"),
             table("swap", "id by seat", "by -> person.id", "by, seat -> seat.id, row")],
            "  person: {}\n  seat: {max_rows: 3}\n  swap: {unit: by -> person.id, max_rows: 9, columns: {seat: {}}}",
            "tables.swap.columns.seat",
        ),
        # Through a table that is not declared, by a key of two columns.
        (
            [PERSON, table("desk", "id floor holder", "holder -> person.id"),
             table("shelf", "id desk floor", "desk, floor -> desk.id, floor"),
             table("loan", "id by shelf", "by -> person.id", "shelf -> shelf.id")],
            "  person: {}\n  loan: {unit: by -> person.id, max_rows: 9, columns: {shelf: {}}}",
            "tables.loan.columns.shelf",
        ),
        # What is published is about people.
        (
            [PERSON, table("team", "id head", "head -> person.id")],
            "  person: {}\n  team: {public: true}",
            "tables.team.public",
        ),
        (
            [PERSON, table("team", "id head", "head -> person.id")],
            "  person: {}\n  team: {public: true, columns: {id: {}}}",
            "tables.team.public",
        ),
        (
            [PERSON, table("post", "id author", "author -> person.id"), table("tag", "id post note", "post -> post.id")],
            "  person: {}\n  tag: {public: true, columns: {post: {}, note: {}}}",
            "tables.tag.columns.post",
        ),
    ],
    ids=["self", "steps", "undeclared", "own table", "composite", "composite undeclared", "public", "left out", "far"],
)  # fmt: skip
def test_wherever_the_second_person_comes_from(others: list[SchemaTable], tables: str, path: str) -> None:
    found = errors(tables, schema(*others))
    assert found.keys() == {path}
    column = path.rpartition(".")[2]
    said = tables.replace(f"{column}: {{}}", f"{column}: {{owner: public}}")
    if path == "tables.team.public":
        said = "  person: {}\n  team: {public: true, columns: {id: {}, head: {owner: public}}}"
    assert errors(said, schema(*others)) == {}


@pytest.mark.parametrize(
    ("others", "tables"),
    [
        # A key of two columns that compares the persons of both rows.
        (
            [PERSON, table("seat", "id holder", "holder -> person.id"),
             table("swap", "id by seat", "by -> person.id", "by, seat -> seat.holder, id")],
            "  person: {}\n  seat: {max_rows: 3}\n  swap: {unit: by -> person.id, max_rows: 9, columns: {seat: {}}}",
        ),
        # To lists that are public, from people and from their rows; and from lists to each other.
        (
            [table("person", "id town", "town -> town.id"), table("town", "id land", "land -> land.id"), table("land", "id")],
            "  person: {columns: {town: {}}}\n  town: {public: true}\n  land: {public: true}",
        ),
        # Other people, of whom the policy does not speak.
        (
            [PERSON, table("doctor", "id"), table("visit", "id of by", "of -> person.id", "by -> doctor.id")],
            "  person: {}\n  visit: {unit: of -> person.id, max_rows: 9, columns: {by: {}}}",
        ),
        # The owner says that nobody is behind the list, and so nobody is behind what refers to it.
        (
            [table("person", "id team", "team -> team.id"), table("team", "id head", "head -> person.id")],
            "  person: {columns: {team: {}}}\n  team: {public: true, columns: {id: {}, head: {owner: public}}}",
        ),
    ],
    ids=["same person", "lists", "others", "list with a head"],
)  # fmt: skip
def test_no_word_is_needed_where_nobody_else_is_meant(others: list[SchemaTable], tables: str) -> None:
    assert errors(tables, schema(*others)) == {}


def test_a_view_shows_what_its_tables_refer_to() -> None:
    view = SchemaTable("letters", dict(MESSAGE.columns), view=True)
    tables = "  person: {}\n  letters: {unit: sender -> person.id, max_rows: 9, columns: {sender: {}, receiver: {}}}"
    assert errors(tables, schema(PERSON, MESSAGE, view)).keys() == {"tables.letters.columns.receiver"}
    assert errors(tables.replace("receiver: {}", "receiver: {owner: public}"), schema(PERSON, MESSAGE, view)) == {}


@pytest.mark.quick
@pytest.mark.parametrize(
    "how", ["REFERENCES person (id)", "REFERENCES person (id) NOT VALID", "REFERENCES secret (id)", "RLS"]
)
def test_what_postgres_does_not_enforce_or_show_is_meant_all_the_same(how: str) -> None:
    """A foreign key that nothing may rest on, and one that leads through a table that the role may not read."""
    server = shared_server()
    added = "REFERENCES person (id)" if how == "RLS" else how
    database = server.database(
        "CREATE TABLE person (id int PRIMARY KEY); CREATE TABLE secret (id int PRIMARY KEY, of int REFERENCES person);"
        "CREATE TABLE message (id int PRIMARY KEY, sender int REFERENCES person, receiver int);"
        f"ALTER TABLE message ADD FOREIGN KEY (receiver) {added};"
    )
    with server.owner(database) as owner:
        owner.execute("REVOKE SELECT ON secret FROM PUBLIC")
        owner.execute(f"REVOKE ALL ON secret FROM {READER}")
        if how == "RLS":
            owner.execute("ALTER TABLE person ENABLE ROW LEVEL SECURITY")
    engine = PostgresEngine.open(server.url(database))
    try:
        found = engine.schema()
    finally:
        engine.close()
    assert "secret" not in found.tables
    told = errors("  person: {}\n  message: {unit: sender -> person.id, max_rows: 9, columns: {receiver: {}}}", found)
    assert told.keys() == {"tables.message.columns.receiver"}


# Ways that do not agree


def test_a_way_goes_on_as_the_table_that_it_leads_to_does() -> None:
    """Else rows that are joined along it would have the owner of the one table here, and of the other there."""
    database = schema(PERSON, MESSAGE, table("file", "id message", "message -> message.id"))
    open_ = "  person: {}\n  message: {unit: sender -> person.id, max_rows: 9, columns: {receiver: {owner: public}}}\n"
    wrong = open_ + "  file: {unit: [message -> message.id, receiver -> person.id], max_rows: 9}"
    assert "belong to people by 'sender -> person.id'" in errors(wrong, database)["tables.file.unit"]
    for right in ("unit: message -> message.id", "unit: [message -> message.id, sender -> person.id]", "columns: {}"):
        assert errors(f"{open_}  file: {{{right}, max_rows: 9}}", database) == {}


def test_the_policys_own_ways_are_foreign_keys_too() -> None:
    """The database declares none here: that a swap's seat is somebody's is the policy's word, of another table."""
    database = schema(PERSON, table("seat", "id holder neighbour"), table("ticket", "id seat"), table("row", "id of"))
    tables = (
        "  person: {}\n  seat: {unit: holder -> person.id, max_rows: 3, columns: {neighbour: {}}}\n"
        "  ticket: {unit: [seat -> seat.id, neighbour -> person.id], max_rows: 9}"
    )
    assert "tables.ticket.unit" in errors(tables, database)
    assert errors(tables.replace("neighbour ->", "holder ->"), database) == {}


# What only names tell


@pytest.mark.parametrize(
    ("unit", "others", "tables", "path", "message"),
    [
        (
            "person.id",
            [table("doctor", "id"), table("visit", "id of by", "of -> person.id", "by -> doctor.id")],
            "  visit: {max_rows: 9, columns: {by: {}}}",
            "tables.visit.columns.by",
            "refers to doctor, whose rows may be people, and this policy does not protect them",
        ),
        (
            "person.id",
            [table("visit", "id person_id"), table("bill", "id visit_id person_id")],
            "  visit: {unit: person_id -> person.id, max_rows: 9, columns: {id: {}}}\n"
            "  bill: {unit: visit_id -> visit.id, max_rows: 9, columns: {person_id: {}}}",
            "tables.bill.columns.person_id",
            "is named like visit.person_id, which leads to people",
        ),
        (
            "row",
            [table("visit", "id of", "of -> person.id")],
            "  visit: {columns: {of: {}}}",
            "tables.visit.columns.of",
            "refers to person: whoever is in several rows by it is protected in one row at a time",
        ),
    ],
)
def test_what_may_name_people_is_told_of(
    unit: str, others: list[SchemaTable], tables: str, path: str, message: str
) -> None:
    def warnings(text: str) -> dict[str, str]:
        policy = Policy.parse(HEAD.replace("person.id", unit) + ("" if unit == "row" else "  person: {}\n") + text)
        found = problems(policy, schema(PERSON, *others))
        assert not [p for p in found if p.severity == "error"]
        return {p.path: p.message for p in found if p.severity == "warning"}

    assert message in warnings(tables)[path]
    name = path.rpartition(".")[2]
    spoken = tables.replace(f"{name}: {{}}", f"{name}: {{owner: public}}")
    assert path not in warnings(spoken)


# The first policy

SHOP = schema(
    table("employee", "id reports_to", "reports_to -> employee.id"),
    table("customer", "id rep note", "rep -> employee.id"),
    table("invoice", "id customer_id total", "customer_id -> customer.id"),
    table("invoice_line", "id invoice_id track_id", "invoice_id -> invoice.id", "track_id -> track.id"),
    table("track", "id note"),
)
COMPANY = schema(
    table("employee", "id department_id manager_id pay", "department_id -> department.id", "manager_id -> employee.id"),
    table("department", "id head_id note", "head_id -> employee.id"),
    table("absence", "id employee_id approved_by", "employee_id -> employee.id", "approved_by -> employee.id"),
    table("reason", "id absence_id note", "absence_id -> absence.id"),
)
LOGS = schema(table("login", "at note", key=""), table("page", "at note", key=""))


def drafted(database: Schema) -> tuple[str, Policy]:
    text = first_policy(database, "duckdb:x.duckdb")
    policy = Policy.parse(text)
    assert [p for p in problems(policy, database) if p.severity == "error"] == []
    assert not any(spec.public for spec in policy.tables.values())
    return text, policy


def test_messages_wait_for_the_owner_in_the_first_policy() -> None:
    text, policy = drafted(schema(PERSON, MESSAGE))
    assert policy.tables.keys() == {"person"}
    assert "a row of message is about several people, since each of sender and receiver leads to person.id" in text
    assert "#     receiver: {}" in text
    assert "unit: sender" not in text
    assert "unit: receiver" not in text


def test_managers_are_left_out_of_the_first_policy() -> None:
    text, policy = drafted(COMPANY)
    assert policy.privacy_unit == ("employee", "id")
    assert policy.tables.keys() == {"employee", "department"}
    assert set(policy.tables["employee"].columns or {}) == {"id", "pay"}
    assert "# manager_id: {owner: public}     # DECIDE: leads to other people by employee" in text
    assert "the rows of reason lead to employee.id through absence, which is not declared yet" in text


def test_customers_come_before_the_employees_who_look_after_them() -> None:
    text, policy = drafted(SHOP)
    assert policy.privacy_unit == ("customer", "id")
    assert policy.tables.keys() == {"customer", "invoice", "invoice_line"}
    assert "rep: {}   # DECIDE: refers to employee, people whom this policy does not protect" in text
    assert "It is named like other people, whom this policy does not protect" in text
    assert "no foreign key leads from track to customer.id, and invoice_line refers to it" in text


def test_nothing_is_published_of_tables_without_keys() -> None:
    text = first_policy(LOGS, "duckdb:x.duckdb")
    assert "privacy_unit:  # DECIDE" in text
    assert not any(
        line.strip().lstrip("# ").startswith(("public:", "login: {public", "page: {public"))
        for line in text.splitlines()
    )
    for line in ("  # login:", "  #     at: {}", "  #     note: {}"):
        assert any(found.startswith(line) for found in text.splitlines()), line
    rows = text.replace("privacy_unit:  #", "privacy_unit: row  #").replace("tables:  #", "tables: {}  #")
    found = {p.path: p.message for p in problems(Policy.parse(rows), LOGS)}
    assert "protects nobody" in found["tables"]


def test_a_column_with_the_name_of_the_unit_is_proposed_as_the_way_where_no_key_is_declared() -> None:
    """Rows that came from files have no foreign keys: the name is what an owner would look for."""
    plane, flight = table("plane", "tailnum seats", key="-"), table("flight", "month tailnum", key="-")
    database = schema(plane, flight, table("airline", "carrier", key="-"))
    lines = first_policy(database, "duckdb:x.duckdb", answers=OwnerAnswers(unit=("plane", "tailnum")))
    assert "  #   unit: tailnum -> plane.tailnum" in lines.splitlines()
    assert "  #   unit: column -> plane.tailnum" in lines.splitlines(), "of the table without such a column"
    assert lines.count("With 'public: true'") == 1, "what seems to be people's is not proposed for everybody"
    other = schema(PERSON, table("thing", "id size"))
    assert "unit: id -> person.id" not in first_policy(other, "duckdb:x.duckdb"), "each table has an id of its own"
