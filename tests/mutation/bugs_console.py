"""Bugs of the console, and of error bars over the wire."""

from __future__ import annotations

from tests.mutation.bug import Bug, bug

CONSOLE = "tests/console/test_console.py"
TRIALS = "tests/console/test_what_if_page.py"
WIRE = "tests/clients/test_wire_errors.py"

BUGS: tuple[Bug, ...] = (
    bug(
        "a page from elsewhere asks in the name of who is signed in",
        "dpsql.console.pages:Pages._for",
        "                if not _same(given, session.csrf):",
        "                if False:",
        f"{CONSOLE}::test_a_page_from_elsewhere_asks_nothing",
    ),
    bug(
        "the console answers to any name",
        "dpsql.console.pages:_Guarded._not_ours",
        '            return "ask by the name of this server"\n',
        "            pass\n",
        f"{CONSOLE}::test_a_page_from_elsewhere_asks_nothing",
    ),
    bug(
        "an owner's page is shown to analysts",
        "dpsql.console.pages:Pages._for",
        "            if owner is not None and session.is_owner != owner:",
        "            if False:",
        f"{CONSOLE}::test_an_owner_asks_nothing_and_an_analyst_sees_nothing_of_others",
    ),
    bug(
        "pages do not escape",
        "dpsql.console.pages:Pages.__init__",
        "autoescape=True",
        "autoescape=False",
        f"{CONSOLE}::test_every_text_is_escaped",
    ),
    bug(
        "charts do not escape",
        "dpsql.console.charts:_bars",
        "<title>{escape(told)}</title>",
        "<title>{told}</title>",
        f"{CONSOLE}::test_every_text_is_escaped",
    ),
    bug(
        "an owner comes in by any password",
        "dpsql.console.pages:Pages._signed_in",
        "            if Verifier.read(owners[name].password).fits(password):",
        "            if Verifier.read(owners[name].password):",
        f"{CONSOLE}::test_a_wrong_password_lets_nobody_in",
    ),
    bug(
        "a session outlives its end",
        "dpsql.console.sign_in:SignedInSessions.remove",
        "            self._found.pop(session.token, None)",
        "            pass",
        f"{CONSOLE}::test_a_session_ends_when_one_signs_out",
    ),
    bug(
        "the ends of intervals are rounded inwards",
        "dpsql.server.session.shown_digits:meaningful",
        "partial(_outwards, math.floor), partial(_outwards, math.ceil)",
        "partial(_outwards, math.ceil), partial(_outwards, math.floor)",
        f"{WIRE}::test_ends_are_rounded_outwards",
    ),
    bug(
        "items of arrays are rounded to the digits of the first",
        "dpsql.server.session.shown_digits:_item_decimals",
        "zip_longest(*rows, fillvalue=0.0)",
        "zip_longest(*[row[:1] * len(row) for row in rows])",
        "tests/finish/test_intervals_shown.py::test_items_of_arrays_have_the_digits_that_mean_something",
    ),
    bug(
        "rows are sorted by a number where its end is shown",
        "rewriter.statement.interval_columns:_check_unread",
        "            if by_name or (by_place",
        "            if False and (by_place",
        f"{WIRE}::test_what_would_read_an_end_is_refused_and_free",
    ),
    bug(
        "a host that is no address is an error of ours",
        "dpsql.console.pages:_name_of",
        "    except ValueError:\n",
        "    except KeyError:\n",
        "tests/console/test_malformed_requests.py::test_no_header_is_our_error",
    ),
    bug(
        "an origin that is no address is an error of ours",
        "dpsql.console.pages:_place_of",
        "    except ValueError:\n",
        "    except KeyError:\n",
        "tests/console/test_malformed_requests.py::test_no_header_is_our_error",
    ),
    bug(
        "a form of many fields is an error of ours",
        "dpsql.console.pages:",
        "    except ValueError:\n        return {}\n",
        "    except KeyError:\n        return {}\n",
        "tests/console/test_malformed_requests.py::test_no_form_is_our_error",
    ),
    bug(
        "a form is read twice",
        "dpsql.console.pages:",
        "    if form is None:\n",
        "    if True:\n",
        "tests/console/test_malformed_requests.py::test_the_token_may_be_a_field_of_the_form",
    ),
    Bug(
        "an analyst's session sees true numbers",
        "dpsql.console.pages:Pages",
        (
            (
                'Route("/what-if", owner(self._what_if), methods=["POST"])',
                'Route("/what-if", either(self._what_if), methods=["POST"])',
            ),
            ("        if not (session.is_owner and facts.what_if", "        if not (facts.what_if"),
        ),
        (f"{TRIALS}::test_no_analyst_gets_a_true_number",),
    ),
    bug(
        "an owner elsewhere sees true numbers",
        "dpsql.console.trials:is_on_this_machine",
        "    return near and not passed",
        "    return not passed",
        f"{TRIALS}::test_each_condition_is_needed",
    ),
    bug(
        "a proxy passes true numbers on",
        "dpsql.console.trials:is_on_this_machine",
        "    return near and not passed",
        "    return near",
        f"{TRIALS}::test_no_analyst_gets_a_true_number",
    ),
    bug(
        "true numbers are shown where nobody asked for them at the start",
        "dpsql.console.pages:Pages",
        "session.is_owner and facts.what_if and",
        "session.is_owner and",
        f"{TRIALS}::test_each_condition_is_needed",
    ),
    bug(
        "a trial is charged to the owner's ledger",
        "dpsql.what_if:tried",
        """                "ledger": Place.of(f"sqlite:{at / 'ledger'}", at),\n""",
        "",
        f"{TRIALS}::test_an_owner_sees_what_bounds_and_price_would_do_and_nothing_is_charged",
    ),
)
