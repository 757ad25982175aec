"""The sum of the calls before a statement is exact in any order, and is not made of all calls each time."""

import json
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from recorder.core.costs.stated_costs import TOKENS
from recorder.core.events.fields import parse_timestamp
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.models import Project, Session, Turn
from recorder.pricing import stated_costs
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.transcripts.claude_code.test_sessions import text, use
from tests.recorder.imports.transcripts.claude_code.test_stated_costs import CALL, Stating
from tests.recorder.journal.spans import captures
from tests.recorder.query_work import query_work

pytestmark = pytest.mark.django_db(transaction=True)
NUMBERS = count(1)
FEW = 15


def project():
    return Project.objects.create(slug=f"sums{next(NUMBERS)}")


def send(of, name, lines, at=0, flush=False):
    raw = [json.dumps(line).encode() for line in lines]
    ingest(Batch(of.pk, name, at, raw, "claude-code", flush=flush))


def with_sub_agent(turns, stated, session="s"):
    """Return the files of a session and of its sub-agent, each with some turns before the statement."""
    main = Stating(sessionId=session)
    main.prompt("Go")
    main.answer("m1", use("c1", "Agent", prompt="Look"), stop="tool_use")
    agent = Stating(sessionId=session, isSidechain=True, agentId="a1")
    agent.seconds = main.seconds
    agent.prompt("Look")
    for number in range(turns):
        agent.answer(f"a{number}", use(f"t{number}"), stop="tool_use")
        agent.result(f"t{number}", "one")
    agent.answer("a", text("Seen"))
    main.seconds = agent.seconds
    main.result("c1", "Seen", toolUseResult={"agentId": "a1"})
    main.answer("m2", text("Done"))
    main.state(stated)
    return main, agent


def files():
    """Return files by name: of a session with a sub-agent, which goes on and states more, and of a fork."""
    main, agent = with_sub_agent(2, 9 * CALL)
    fork = main.fork("fork").run("Other", 30 * CALL)
    main.seconds += 20
    main.run("Again", 12 * CALL)
    main.prompt("More")
    main.answer("m9", text("More"))
    return {"main": main.lines, "agent": agent.lines, "fork": fork.lines}


def assert_sums(of):
    """Compare what is kept of each session with the sum of its calls."""
    for session in Session.objects.filter(project=of, stated__isnull=False):
        until = parse_timestamp(session.stated["all"][-1][1]) if session.stated["all"][-1][1] else None
        turns = [
            turn
            for turn in Turn.objects.filter(loop__session=session)
            if until is None or (turn.ended_at or turn.started_at) < until
        ]
        tokens = [sum(getattr(turn, f"{name}_tokens") for turn in turns) for name in TOKENS]
        assert session.stated["recorded"] == [sum(turn.cost_nano or 0 for turn in turns), *tokens]


PORTIONS = st.lists(st.tuples(st.sampled_from(["main", "agent", "fork"]), st.integers(1, 6)), max_size=30)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(portions=PORTIONS)
@example(portions=[("fork", 1)])  # the first line of its origin comes with it
def test_the_sum_of_calls_is_exact_after_each_portion_of_lines_in_any_order(portions):
    of, left = project(), files()
    sent = dict.fromkeys(left, 0)
    for name, size in [*portions, *((name, 99) for name in left)]:
        lines = left[name][sent[name] : sent[name] + size]
        send(of, name, lines, sent[name])
        sent[name] += len(lines)
        assert_sums(of)
    for name in left:
        send(of, name, [], sent[name], flush=True)
        assert_sums(of)

    at_once = project()
    for name, lines in left.items():
        send(at_once, name, lines, flush=True)
    assert [*captures.differences(captures.shape(of), captures.shape(at_once))] == []
    before = [*Session.objects.filter(project=of).order_by("session_id").values_list("stated", flat=True)]
    rebuild(of)
    assert before == [
        *Session.objects.filter(project=of).order_by("session_id").values_list("stated", flat=True)
    ]


@pytest.fixture
def work(monkeypatch):
    """Return the work of each time that the rest of a session was computed again."""
    found, restate = [], stated_costs.restate

    def counted(*args):
        results = []
        found.append(query_work(lambda: results.append(restate(*args))))
        return results[0]

    monkeypatch.setattr(stated_costs, "restate", counted)
    return found


def behind_the_statement(turns, work):
    """Return the work for the last of some turns that follow a statement.

    Each project has another session: PostgreSQL may look for a loop by its id alone, in all projects.
    """
    of = project()
    file = Stating(sessionId=of.slug).run("One", 3 * CALL)
    for number in range(turns):
        file.prompt(f"p{number}")
        file.answer(f"m{number}", text("Done"))
    send(of, "s", file.lines[:-1])
    send(of, "s", file.lines[-1:], len(file.lines) - 1)
    return work[-1]


def before_the_statement(turns, work):
    """Return the work for the last turn of a sub-agent, whose file comes after the statement."""
    of = project()
    main, agent = with_sub_agent(turns, 1_000 * CALL, of.slug)
    send(of, "main", main.lines, flush=True)
    send(of, "agent", agent.lines[:-1])
    send(of, "agent", agent.lines[-1:], len(agent.lines) - 1)
    return work[-1]


@pytest.mark.parametrize("last_turn", [behind_the_statement, before_the_statement])
def test_a_further_turn_of_a_long_session_costs_what_one_of_a_short_session_does(last_turn, work):
    few = last_turn(FEW, work)

    assert last_turn(4 * FEW, work) <= 1.2 * few
