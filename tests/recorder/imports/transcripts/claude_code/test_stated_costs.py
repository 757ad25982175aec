"""What Claude Code states of the cost of a session, beside the calls in its transcript."""

from decimal import Decimal
from itertools import permutations

import pytest
from django.db import transaction
from django.urls import reverse

from recorder.core.money.prices import Band, Rates
from recorder.models import LoopRecord, Project, Session, Spending, Turn
from recorder.operations import deletion
from recorder.operations.audit import COMMAND
from recorder.operations.integrity_check import findings
from recorder.pricing import backfill, price_book
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.transcripts.claude_code.test_sessions import Claude, text, use
from tests.recorder.imports.transcripts.conftest import send
from tests.recorder.journal.spans import captures

pytestmark = pytest.mark.django_db(transaction=True)
CALL = 450_000  # nano-dollars of a call: 100 input and 10 output tokens


class Stating(Claude):
    """Writes statements of cost as well."""

    def state(self, nano, *, out=0):
        usage = {"claude-haiku-4-5": {"inputTokens": 1_000, "outputTokens": out}}
        cost = {"type": "cost-state", "totalCostUSD": nano / 10**9, "modelUsage": usage}
        self.lines.append({"sessionId": self.common["sessionId"], **cost})

    def run(self, name, nano, *, out=0):
        """Add a prompt, its answer and a statement."""
        self.prompt(name)
        self.answer(f"m-{name}", text(name), requestId=f"r-{name}")
        self.state(nano, out=out)
        return self

    def fork(self, session):
        """Return a fork: it begins with the messages of this session, and names it in copied answers."""
        fork = Stating(sessionId=session)
        fork.seconds = self.seconds + 10
        for line in self.lines:
            if line["type"] in ("user", "assistant"):
                origin = {"requestSessionId": line.get("requestSessionId", line["sessionId"])}
                marks = origin if line["type"] == "assistant" else {}
                fork.lines.append({**line, **marks, "sessionId": session})
        return fork


def recorded(*files):
    project = Project.objects.create(slug=f"p{Project.every.count()}")
    for file in files:
        send(
            project,
            "claude-code",
            file.lines[0]["sessionId"] + file.lines[0].get("agentId", ""),
            [file.lines],
        )
    return project


def costs(project):
    """Return the cost of each session, and the part of it that is in no transcript."""
    check(project)
    found = {}
    for session in Session.objects.filter(project=project):
        rest = session.loop_records.filter(role="unlisted").values_list("cost_nano", flat=True)
        found[session.session_id] = (session.cost_nano, *rest)
    return found


def check(project):
    """Check that sums agree, and that a rebuild gives the same records under the same keys."""
    assert [*findings()] == []
    for session in Session.objects.filter(project=project):
        loops = [*session.loop_records.all()]
        for name in ("cost_nano", "input_tokens", "output_tokens", "uncached_tokens", "visible_tokens"):
            assert getattr(session, name) == sum(getattr(loop, name) for loop in loops)
    spent = Spending.objects.filter(project=project, span="hour")
    sessions = Session.objects.filter(project=project)
    assert sum(row.cost_nano for row in spent) == sum(each.cost_nano for each in sessions)
    before = captures.shape(project), sorted(LoopRecord.objects.values_list("pk", "loop_id"))
    rebuild(project)
    after = captures.shape(project), sorted(LoopRecord.objects.values_list("pk", "loop_id"))
    assert [*captures.differences(after[0], before[0])] == []
    assert after[1] == before[1]


def test_calls_without_a_line_are_a_loop_of_their_own():
    project = recorded(Stating(sessionId="s").run("Go", 3 * CALL, out=25))

    assert costs(project) == {"s": (3 * CALL, 2 * CALL)}
    rest, session = LoopRecord.objects.get(role="unlisted"), Session.objects.get()
    assert (rest.title, rest.cost_source, rest.status) == ("Not in the transcript", "reported", "completed")
    assert (rest.input_tokens, rest.output_tokens) == (900, 15)
    assert (session.loops, session.turns, session.output_tokens, session.outcome) == (1, 1, 25, "completed")


@pytest.mark.parametrize("nano", [CALL, CALL // 2, None, "much"])
def test_a_statement_of_no_more_than_the_calls_adds_nothing(nano):
    file = Stating(sessionId="s").run("Go", CALL)
    file.lines[-1]["totalCostUSD"] = nano / 10**9 if isinstance(nano, int) else nano
    assert costs(recorded(file)) == {"s": (CALL,)}


def test_the_last_statement_counts_and_calls_behind_it_are_added():
    file = Stating(sessionId="s").run("One", 3 * CALL).run("Two", 5 * CALL)
    assert costs(recorded(file)) == {"s": (5 * CALL, 3 * CALL)}

    file.prompt("Three")
    file.answer("m3", text("Three"))
    assert costs(recorded(file)) == {"s": (6 * CALL, 3 * CALL)}


def test_a_lower_statement_begins_anew():
    """As that of a process that does not know what an earlier one stated."""
    file = Stating(sessionId="s").run("One", 5 * CALL).run("Two", 2 * CALL).run("Three", 4 * CALL)
    assert costs(recorded(file)) == {"s": (9 * CALL, 6 * CALL)}


def test_a_rest_that_turns_out_to_be_recorded_is_removed():
    """The calls of a sub-agent are in a file of their own, which may come later."""
    main = Stating(sessionId="s")
    main.prompt("Go")
    main.answer("m1", use("c1", "Agent", prompt="Look"), stop="tool_use")
    agent = Stating(sessionId="s", isSidechain=True, agentId="a1")
    agent.seconds = main.seconds
    agent.prompt("Look")
    agent.answer("m2", text("Seen"))
    main.seconds = agent.seconds
    main.result("c1", "Seen", toolUseResult={"agentId": "a1"})
    main.answer("m3", text("Done"))
    main.state(3 * CALL)
    project = recorded(main)
    assert costs(project) == {"s": (3 * CALL, CALL)}

    send(project, "claude-code", "agent", [agent.lines])

    assert costs(project) == {"s": (3 * CALL,)}
    main.prompt("More")
    main.answer("m4", text("More"))
    for order in ((main, agent), (agent, main)):
        assert costs(recorded(*order)) == {"s": (4 * CALL,)}


def test_a_fork_goes_on_from_the_last_statement_of_its_origin_before_it():
    """In any order of arrival, also when the origin went on after the fork."""
    first = Stating(sessionId="old").run("One", 3 * CALL)
    second = first.fork("new").run("Two", 7 * CALL)
    third = second.fork("newer").run("Three", 12 * CALL)
    wanted = {"old": (3 * CALL, 2 * CALL), "new": (4 * CALL, 3 * CALL), "newer": (5 * CALL, 4 * CALL)}
    for order in permutations((first, second, third)):
        assert costs(recorded(*order)) == wanted

    first.seconds = 600
    first.run("Later", 100 * CALL)
    for order in permutations((first, second, third)):
        found = costs(recorded(*order))
        assert {name: whole for name, (whole, _) in found.items()} == {
            "old": 100 * CALL,
            "new": 4 * CALL,
            "newer": 5 * CALL,
        }

    alone = recorded(second)
    assert costs(alone) == {"new": (7 * CALL, 5 * CALL)}  # with the copies of calls that no other file has


def test_a_fork_of_a_session_without_a_statement_states_its_own_cost():
    first = Stating(sessionId="old")
    first.prompt("One")
    first.answer("m-One", text("One"), requestId="r-One")
    second = first.fork("new").run("Two", 3 * CALL)
    for order in permutations((first, second)):
        assert costs(recorded(*order)) == {"old": (CALL,), "new": (3 * CALL, 2 * CALL)}


def test_a_deleted_session_takes_its_rest_with_it_also_out_of_its_forks():
    first = Stating(sessionId="old").run("One", 3 * CALL)
    second = first.fork("new").run("Two", 7 * CALL)
    project = recorded(first)
    deletion.delete_session(project, "old", COMMAND)
    assert not LoopRecord.objects.exists()
    assert not Spending.objects.exclude(cost_nano=0).exists()

    send(project, "claude-code", "new", [second.lines])

    assert costs(project) == {"new": (CALL,)}


def test_the_sum_stays_the_stated_one_when_prices_change():
    project = recorded(Stating(sessionId="s").run("Go", 5 * CALL))
    dear = Band(0, Rates(*map(Decimal, ("9", "1", "1", "1", "45", "45"))))  # three times as much
    with transaction.atomic():
        price_book.add(project.pk, ("claude-sonnet-4-5", "anthropic"), [dear], None, "somebody")
    backfill.request(project, None, "somebody")
    while backfill.step():
        pass

    assert costs(project) == {"s": (5 * CALL, 2 * CALL)}


def test_web_searches_are_no_part_of_the_rest(page):
    """They cost $10 per 1,000, to the nano-dollar; their answer says how many there were, on each line."""
    file = Stating(sessionId="s")
    file.prompt("Go")
    file.answer("m1", {"type": "thinking", "thinking": "Hm"}, stop=None)
    file.answer("m1", text("Found"))
    for line in file.lines[1:]:
        line["message"]["usage"]["server_tool_use"] = {"web_search_requests": 3, "web_fetch_requests": 1}
    file.state(CALL + 30_000_000)
    project = recorded(file)
    assert costs(project) == {"s": (CALL + 30_000_000,)}
    turn = Turn.objects.get()
    assert (turn.web_searches, turn.cost_nano, turn.cost_source) == (3, CALL + 30_000_000, "computed")
    answer = page.get(reverse("session", args=(project.slug, Session.objects.get().pk)))
    assert b"web searches" in answer.content


@pytest.fixture
def page(client, django_user_model):
    client.force_login(django_user_model.objects.create_superuser("ann"))
    return client


def test_the_page_of_a_session_shows_what_is_not_in_the_transcript(page):
    project = recorded(Stating(sessionId="s").run("Go", 3 * CALL))
    session, rest = Session.objects.get(), LoopRecord.objects.get(role="unlisted")
    at = (project.slug, session.pk)
    for address in (reverse("session", args=at), reverse("loop", args=[*at, rest.pk])):
        answer = page.get(address)
        assert (answer.status_code, b"Not in the transcript" in answer.content) == (200, True)
