"""Bugs of the policy: what is opened protects fewer people than its owner believes, or rests on what nobody enforces."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

PEOPLE = "tests/policy/test_other_people.py"
KEYS = "tests/policy/test_unique_keys.py"
POLICY = "tests/policy/test_policy.py"
SAME = "tests/policy/test_same_person.py"

WAYS = "tests/policy/test_ways_to_people.py"

BUGS: tuple[Bug, ...] = (
    # Ways by rows of people that are not their only ones, and by keys of several columns
    bug(
        "a row of people that is referred to needs no key",
        "dpsql.policy.unique_keys:UniqueKeys._chains",
        "(hop.parent, hop.parent_column, hop.also) != (*self.unit, ())",
        "hop.parent != self.unit[0]",
        f"{WAYS}::test_a_key_of_two_people_keeps_the_policy_closed",
    ),
    bug(
        "a key of several columns is one by its first",
        "dpsql.policy.unique_keys:UniqueKeys._parent",
        "        claim = Claim(hop.parent, hop.parent_columns, lasting=True)",
        "        return",
        f"{WAYS}::test_a_key_of_two_people_keeps_the_policy_closed",
    ),
    bug(
        "from a row of people a way goes on to others",
        "dpsql.policy.unit_path:UnitPaths._same_way",
        "            if hop.parent == self.unit[0]:\n                theirs = (self._itself,)\n",
        "            if hop.parent == self.unit[0]:\n                continue\n",
        f"{WAYS}::test_what_is_no_way_is_told",
    ),
    bug(
        "a second way by several columns is not compared",
        "dpsql.policy.other_people:OtherPeople._keys",
        "(*steps, *self.said.get(table, ()))",
        "(*steps,)",
        f"{WAYS}::test_a_key_of_two_people_keeps_the_policy_closed",
    ),
    # Rows of two people
    bug(
        "a second foreign key to people is a column like others",
        "dpsql.policy.declared_catalog:fit",
        "        problems += others.problems()\n",
        "        pass\n",
        f"{PEOPLE}::test_a_row_of_two_people_needs_the_owners_word",
    ),
    bug(
        "a table that is not declared leads to nobody",
        "dpsql.policy.other_people:OtherPeople._leads",
        "            parents = {key.parent for key in known.references} if known is not None else set()",
        "            parents: set[str] = set()",
        f"{PEOPLE}::test_wherever_the_second_person_comes_from",
    ),
    bug(
        "a foreign key that nothing enforces means nothing",
        "dpsql.engines.schema:SchemaTable.references",
        "        return (*self.foreign_keys, *self.loose_keys)",
        "        return self.foreign_keys",
        f"{PEOPLE}::test_what_postgres_does_not_enforce_or_show_is_meant_all_the_same",
    ),
    bug(
        "what leads through a table that may not be read leads nowhere",
        "dpsql.engines.postgres.postgres_schema:",
        "    WHERE l.parent NOT IN (SELECT oid FROM visible)\n",
        "    WHERE l.parent IN (SELECT oid FROM visible)\n",
        f"{PEOPLE}::test_what_postgres_does_not_enforce_or_show_is_meant_all_the_same",
    ),
    bug(
        "a view refers to nobody",
        "dpsql.policy.other_people:OtherPeople._keys",
        "for name in (source.columns if source.view else ())",
        "for name in (source.columns if not source.columns else ())",
        f"{PEOPLE}::test_a_view_shows_what_its_tables_refer_to",
    ),
    bug(
        "a key of two columns names the same person if one of them does",
        "dpsql.policy.other_people:OtherPeople._same_person",
        "        return compared and bool(ours) and",
        "        return bool(ours) and",
        f"{PEOPLE}::test_wherever_the_second_person_comes_from",
    ),
    bug(
        "a table about people is published without a word",
        "dpsql.policy.other_people:OtherPeople._shown",
        "(said.owner is None if said is not None else spec.public or name in referred)",
        "(said.owner is None if said is not None else name in referred)",
        f"{PEOPLE}::test_wherever_the_second_person_comes_from",
    ),
    bug(
        "the owner of a row is called public",
        "dpsql.policy.other_people:OtherPeople.problems",
        "            yield from self._own_word(table, own)\n",
        "",
        f"{PEOPLE}::test_the_person_of_the_row_cannot_be_called_public",
    ),
    bug(
        "a way goes on by another person than the table that it has come to",
        "dpsql.policy.unit_path:UnitPaths._same_way",
        "            if theirs != ours:",
        "            if theirs != ours and not ours:",
        f"{PEOPLE}::test_a_way_goes_on_as_the_table_that_it_leads_to_does",
    ),
    bug(
        "ways that are never looked at agree",
        "dpsql.policy.other_people:OtherPeople._agree",
        "        return bool(claims) and all(self.seen.get(claim) is True for claim in claims or ())",
        "        return bool(claims) and all(self.seen.get(claim, True) is True for claim in claims or ())",
        f"{SAME}::test_postgres_wants_a_constraint",
    ),
    bug(
        "ways agree whatever the rows say",
        "dpsql.policy.other_people:OtherPeople._agree",
        "        return bool(claims) and all(self.seen.get(claim) is True for claim in claims or ())",
        "        return bool(claims) and all(claim in self.seen for claim in claims or ())",
        f"{SAME}::test_one_row_of_two_people_is_refused",
    ),
    bug(
        "one way of several that agrees will do",
        "dpsql.policy.other_people:OtherPeople._agree",
        "        return bool(claims) and all(self.seen.get(claim) is True for claim in claims or ())",
        "        return bool(claims) and any(self.seen.get(claim) is True for claim in claims or ())",
        f"{SAME}::test_one_row_of_two_people_is_refused",
    ),
    bug(
        "a key that comes back to a table that it has met leads no further",
        "dpsql.policy.other_people:OtherPeople._onward",
        "                    return None\n                found += onward",
        "                    continue\n                found += onward",
        f"{SAME}::test_a_chain_of_undeclared_tables_that_comes_back_is_refused",
    ),
    bug(
        "ways that agree today agree tomorrow",
        "dpsql.opened:agreeing",
        "        if all(map(engine.lasting, claim.tables)):",
        "        if claim.tables:",
        f"{SAME}::test_postgres_wants_a_constraint",
    ),
    bug(
        "of a key that rows share one person is met",
        "dpsql.engines.way_check:_differs",
        "    crosswise = ((ours[0], theirs[1]), (ours[1], theirs[0]))",
        "    crosswise = ((ours[0], theirs[0]),)",
        f"{SAME}::test_the_scan_finds_what_a_search_finds",
    ),
    bug(
        "a foreign key of three columns holds where one of them is NULL",
        "dpsql.policy.other_people:OtherPeople._compared",
        "            and len(other.columns) == 2\n",
        "",
        f"{SAME}::test_postgres_wants_a_constraint",
    ),
    bug(
        "a policy about two people is opened by everybody",
        "dpsql.opened:_compare",
        "    checked = catalog(policy, schema, None, looks, agreed, let_pass)",
        '    checked = catalog(policy, schema, None, looks, agreed, let_pass := ("two people",))',
        f"{SAME}::test_a_row_of_two_people_is_opened_without_noise_alone",
    ),
    bug(
        "without noise a table of people may be public",
        "dpsql.policy.other_people:OtherPeople.problems",
        'kind: Kind | None = "two people" if own is not None else None',
        'kind: Kind | None = "two people"',
        f"{SAME}::test_nothing_else_passes_there",
    ),
    bug(
        "the first of two ways is taken",
        "dpsql.policy.unit_path:UnitPaths._only_path",
        "        if len(steps) > 1:",
        "        if len(steps) > 9:",
        f"{PEOPLE}::test_two_ways_are_not_chosen_between_but_by_the_owners_word",
    ),
    bug(
        "a first policy offers one of two people",
        "dpsql.policy.proposal:_Draft.of",
        "if name not in ways and len(hops) == 1 and hop.parent in ways",
        "if name not in ways and hop.parent in ways",
        f"{PEOPLE}::test_messages_wait_for_the_owner_in_the_first_policy",
    ),
    bug(
        "a first policy shows the managers",
        "dpsql.policy.proposal:_Draft._columns",
        "            elif column.name in others:",
        "            elif column.name in others and not others:",
        f"{PEOPLE}::test_managers_are_left_out_of_the_first_policy",
    ),
    bug(
        "a policy that protects nobody is in order",
        "dpsql.policy.declared_catalog:fit",
        "    if all(spec.public for spec in policy.tables.values()):",
        "    if policy.tables and not names:",
        f"{POLICY}::test_a_policy_that_protects_no_table_is_an_error",
    ),
    # Keys
    bug(
        "a key that holds today is taken for one of tomorrow",
        "dpsql.policy.unique_keys:UniqueKeys._parent",
        "        if look is not None and look.lasting and not look.repeats:",
        "        if look is not None and not look.repeats:",
        f"{KEYS}::test_a_chain_over_a_key_that_may_cease_to_be_one_is_not_opened",
    ),
    bug(
        "a chain over a key that two rows share is opened",
        "dpsql.policy.unique_keys:UniqueKeys._parent",
        '        self.problems.append(Problem(join("tables", self.names[child], "unit"), f"{text}: {hint}"))\n',
        "",
        f"{KEYS}::test_a_chain_over_a_key_that_is_none_is_not_opened",
    ),
    bug(
        "people who share a key are one row each",
        "dpsql.policy.unique_keys:UniqueKeys._people",
        '        if look is not None and look.repeats:\n            text = f"rows share values of {real}.{column}, the key',
        '        if look is not None and look.nulls:\n            text = f"rows share values of {real}.{column}, the key',
        f"{KEYS}::test_the_people_have_one_row_each_or_the_owner_says_how_many",
    ),
    bug(
        "a claim of people's rows is certain",
        "dpsql.policy.unique_keys:UniqueKeys._declared",
        "            self.known[real].claimed.append(columns)",
        "            self.known[real].certain.append(columns)",
        f"{KEYS}::test_rows_that_break_a_claimed_key_move_no_more",
    ),
    bug(
        "a person has one row by a claim",
        "rewriter.columns.source:_bound",
        "        return replace(ONE, unique=False)",
        "        return ONE",
        f"{KEYS}::test_rows_that_break_a_claimed_key_move_no_more",
    ),
    bug(
        "a join leaves one row of a person by a claim",
        "rewriter.relations.ownership:_row_bound",
        "        _multiplied(believed, [one for one in believed if one.alias in kept], classes, outer, unmatched), unique=False\n",
        "        _multiplied(believed, [one for one in believed if one.alias in kept], classes, outer, unmatched)\n",
        f"{KEYS}::test_rows_that_break_a_claimed_key_move_no_more",
    ),
    bug(
        "a public row that comes later is met too",
        "dpsql.policy.unique_keys:UniqueKeys._declared",
        "            self.known[real].one_row_of.append(columns)\n",
        "",
        f"{KEYS}::test_a_public_row_that_comes_later_is_not_met",
    ),
    bug(
        "a view stays as it is",
        "dpsql.engines.duckdb.duckdb_engine:DuckDBEngine.lasting",
        "        return self._now.own is not None or self.schema().table(table).stored",
        "        return True",
        f"{KEYS}::test_a_view_is_no_table",
    ),
    bug(
        "two rows with equal values and no NULL share none",
        "dpsql.engines.key_check:key_scan",
        '    several = exp.GT(this=exp.column("n"), expression=exp.Literal.number(1))',
        '    several = exp.GT(this=exp.column("n"), expression=exp.Literal.number(2))',
        f"{KEYS}::test_a_chain_over_a_key_that_is_none_is_not_opened",
    ),
    bug(
        "a step that does not divide the range",
        "dpsql.policy.declared_literals:typed_step",
        "    if steps.denominator != 1:",
        "    if steps < 1:",
        f"{POLICY}::test_each_error_has_its_key_path_and_says_what_would_be_right",
    ),
)
