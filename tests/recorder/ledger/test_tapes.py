"""The ledger of the tapes of all runtimes: sums, no gap, and the same when it is made again."""

import json

import pytest

from recorder.ledger import follower, state
from recorder.ledger.follower import Follower
from recorder.models import LedgerCall, LedgerChain, LedgerGap, LedgerRedo, Session, Turn
from recorder.projection.rebuild import rebuild
from tests.recorder.imports.test_bad_stores import bring_in
from tests.recorder.journal.spans import captures
from tests.recorder.ledger.test_follower import TAPES, ledger, sums, totals
from tests.support.foreign_tapes import send, tape

pytestmark = pytest.mark.django_db(transaction=True)

FORMS = ("claude-code", "codex", "gemini-cli", "pi", "opencode")
IMPORTED = sorted(
    [
        *(path for form in FORMS for path in (TAPES / form).iterdir()),
        *(TAPES / "cagent").glob("*.db"),
        *(TAPES / "cagent").glob("*.jsonl"),
        TAPES / "aidaemon",
        TAPES / "grida",
    ]
)
AGAIN = ("coding_agents/claude-code-otlp", "coding_agents/codex-otlp", "coding_agents/gemini-cli-otlp")


def check(project):
    turns, of_sessions, of_days = totals(project)
    assert turns == of_sessions == of_days
    assert LedgerCall.objects.count() == Turn.objects.filter(state="done").count()
    assert not LedgerGap.objects.exists()


def check_made_again(project):
    found, added = ledger(project), sums(project)
    for again in (
        lambda: state.forget(project.pk),
        lambda: rebuild(project),
        lambda: LedgerRedo.mark(Session.objects.values_list("pk", flat=True)),
    ):
        again()
        follower.run_all()
        assert (ledger(project), sums(project)) == (found, added)


@pytest.mark.parametrize("path", IMPORTED, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_import_has_its_sums_and_is_the_same_when_made_again(project, path):
    assert bring_in(path)[0]
    follower.run_all()

    check(project)
    check_made_again(project)


@pytest.mark.parametrize("capture", [name for name in captures.CAPTURES if name.startswith(AGAIN)])
def test_a_capture_made_step_by_step_is_the_same_when_made_again(project, capture):
    steps = Follower()
    for batch in captures.lines(capture):
        captures.record(project, batch)
        while steps.step():
            pass
    follower.run_all()

    check(project)
    check_made_again(project)


def verdicts(agent):
    calls = LedgerCall.objects.filter(chain__in=LedgerChain.objects.filter(agent_id=agent))
    return list(calls.order_by("end_event").values_list("verdict", flat=True))


def test_agents_of_a_store_have_chains_of_their_own(project):
    bring_in(TAPES / "cagent" / "transfer-task.v19.db")
    follower.run_all()

    assert verdicts("root") == ["first_call", "append_only"]
    assert verdicts("Coding agent") == ["first_call", *["append_only"] * 3]
    assert verdicts("Optimize Dockerfile") == ["first_call", *["append_only"] * 13]


def test_a_model_that_takes_over_for_one_call_is_named_twice(project):
    bring_in(TAPES / "aidaemon")
    follower.run_all()

    expected = ["first_call", "append_only", "append_only", "model_changed", "model_changed"]
    assert verdicts("aidaemon")[:3] == expected[:3]
    main = LedgerCall.objects.filter(chain__is_main=True).order_by("end_event")
    assert list(main.values_list("verdict", flat=True)) == expected


def test_the_reason_in_a_transcript_is_recorded(project):
    (path,) = (TAPES / "claude-code" / "plain").glob("*.jsonl")
    lines = [json.loads(line) for line in tape(path.relative_to(TAPES))]
    for line in lines:
        if line.get("type") == "assistant":
            line["message"]["diagnostics"] = {"cache_miss_reason": {"type": "system_changed"}}
    send(project, [json.dumps(line).encode() for line in lines], "claude-code", flush=True)
    follower.run_all()

    assert {call.reason for call in LedgerCall.objects.all()} == {"system_changed"}
