"""Queries select the rows that a plain evaluation in Python selects, over recorded tapes."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.query_conditions.conditions import (
    evaluation_condition,
    loop_condition,
    session_condition,
    tool_call_condition,
)
from dashboard.query_language import parse, print_query
from dashboard.query_language.keys import KEYS
from dashboard.query_language.nodes import And, Not, Or
from dashboard.shared.queries.config_labels import chips
from dashboard.shared.session_state import end_of_session, state_of_session
from recorder.models import (
    LoopRecord,
    ModelConfig,
    ParallelGroupRecord,
    Pin,
    Producer,
    Project,
    Session,
    ToolCall,
)
from recorder.waste import follower as waste
from tests.dashboard.pages.session.conftest import TAPES, feed
from tests.dashboard.repeated_calls import repeating
from tests.support import build
from tests.support.small_loop import Loop

__all__ = ["feed"]
NOW = datetime(2100, 1, 1, tzinfo=UTC)
SCENARIOS = sorted(
    path.name.removesuffix(".events.jsonl") for path in (TAPES / "phi-core").glob("*.events.jsonl")
)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def recorded(feed, project, settings):
    """The twelve scenarios, a hand-off, labels, an open approval, and a project with the same sessions."""
    settings.LOOPSCOPE_STALE_S = settings.LOOPSCOPE_STALE_WAITING_S = 3_600
    for number, scenario in enumerate(SCENARIOS):
        feed(tape=scenario, producer=f"p{number}")
    feed(*build.handed_over())
    waits = Loop("waits")
    feed(
        waits.start() | {"metadata": {"team": "core", "user": "ada"}},
        waits.turn(),
        waits.tool("t", "edit"),
        waits.approval("t", "rm"),
    )
    feed(*build.small_loop("plain.a.1"))
    Pin.objects.create(project=project, session_id="plain")
    Producer.objects.filter(project=project, name="p0").update(machine="build-7")
    return project


def labels(session):
    return session.metadata or {}


def runs_of(session):
    return list(session.loop_records.all())


def answers(session):
    """Yield config and agent of what answered: of each loop's start, and of each finished turn."""
    for loop in runs_of(session):
        yield loop.config, loop.agent_id
        for turn in loop.turn_records.all():
            if turn.state == "done" and loop.has_switched:
                yield turn.config, turn.agent_id


def lasted(session):
    return (end_of_session(session) or NOW) - session.created_at


def tokens_of(session):
    return (
        session.input_tokens + session.output_tokens + session.cache_read_tokens + session.cache_write_tokens
    )


def calls_of(session):
    return [call for loop in runs_of(session) for call in loop.tool_records.all()]


def has_model(session, test):
    return any(config and test(config) for config, _ in answers(session))


LEAVES = {
    "status:completed": lambda s: state_of_session(s) == "completed",
    "status:[failed,cancelled]": lambda s: s.outcome in ("failed", "cancelled"),
    "status:stale": lambda s: state_of_session(s) == "stale",
    "outcome:rejected": lambda s: s.outcome == "rejected",
    "agent:expert": lambda s: s.agent_id == "expert" or any(agent == "expert" for _, agent in answers(s)),
    "agent:[plain,exp*]": lambda s: any(
        agent == "plain" or agent.startswith("exp") for agent in [s.agent_id, *(a for _, a in answers(s))]
    ),
    "session:[wai*,pl*]": lambda s: s.session_id.startswith(("wai", "pl")),
    "model:claude*": lambda s: has_model(s, lambda config: config.model.startswith("claude")),
    "provider:anthropic": lambda s: has_model(s, lambda config: config.provider == "anthropic"),
    "source:phi-core": lambda s: s.source == "phi-core",
    "session:waits": lambda s: s.session_id == "waits",
    "id:s*": lambda s: s.session_id.startswith("s"),
    "role:[judge,branch]": lambda s: any(loop.role in ("judge", "branch") for loop in runs_of(s)),
    "tool:edit": lambda s: any(call.tool_name == "edit" for call in calls_of(s)),
    "tool.error:true": lambda s: any(call.state == "failed" for call in calls_of(s)),
    "tool.error:false": lambda s: not any(call.state == "failed" for call in calls_of(s)),
    "cost:>0.001": lambda s: s.cost_nano is not None and s.cost_nano > 1_000_000,
    "cost:<=$0.01": lambda s: s.cost_nano is not None and s.cost_nano <= 10_000_000,
    "input:>=100": lambda s: s.input_tokens >= 100,
    "output:<99.5": lambda s: s.output_tokens < 99.5,
    "turns:>1": lambda s: s.turns > 1,
    "turns:[1,3]": lambda s: s.turns in (1, 3),
    "loops:>1.5": lambda s: s.loops > 1.5,
    "tools:0": lambda s: s.tool_calls == 0,
    "errors:>0": lambda s: s.errors > 0,
    "compactions:>=1": lambda s: s.compactions >= 1,
    "duration:>1s": lambda s: lasted(s) // timedelta(milliseconds=1) > 1_000,
    "duration:<=400ms": lambda s: lasted(s) // timedelta(milliseconds=1) <= 400,
    "duration:<10m": lambda s: lasted(s) < timedelta(minutes=10),
    "since:2026-02-01": lambda s: s.last_event_at >= datetime(2026, 2, 1, tzinfo=UTC),
    "until:2026-02-11": lambda s: min(s.created_at, s.last_event_at) < datetime(2026, 2, 12, tzinfo=UTC),
    "age:>1d": lambda s: NOW - s.created_at > timedelta(days=1),
    "branch:won": lambda s: any(loop.is_selected is True for loop in runs_of(s)),
    "branch:lost": lambda s: any(loop.is_selected is False for loop in runs_of(s)),
    "branch:true": lambda s: any(loop.group_id for loop in runs_of(s)),
    "evaluation:judged": lambda s: any(group.verdict == "judged" for group in s.group_records.all()),
    "evaluation:true": lambda s: s.groups > 0,
    "waiting:>0": lambda s: s.waiting > 0,
    "waiting:>5m": lambda s: s.waiting > 0 and NOW - s.waiting_since > timedelta(minutes=5),
    "metadata.team:core": lambda s: "core" in labels(s).get("team", []),
    "user:a*": lambda s: any(name.startswith("a") for name in labels(s).get("user", [])),
    "machine:build-7": lambda s: any(loop.producer.machine == "build-7" for loop in runs_of(s)),
    "has:error": lambda s: s.errors > 0,
    "has:parallel": lambda s: s.groups > 0,
    "has:sub-agent": lambda s: s.sub_agents > 0,
    "has:cost": lambda s: s.cost_nano is not None,
    "has:parent": lambda s: s.parent_session_id != "",
    "has:metadata.team": lambda s: "team" in labels(s),
    "has:context": lambda s: any(loop.context_tokens is not None for loop in runs_of(s)),
    "has:machine": lambda s: any(loop.producer.machine for loop in runs_of(s)),
    "is:pinned": lambda s: s.session_id == "plain",
    "is:live": lambda s: False,
    "plain": lambda s: "plain" in re.split(r"\W", f"{s.title} {s.agent_id} {s.session_id}".lower()),
}  # fmt: skip


def selected(project, text, **fields):
    condition = session_condition(project.pk, parse(text), NOW, **fields)
    return set(Session.objects.filter(condition, project=project).values_list("session_id", flat=True))


def shown_sessions(project):
    return list(Session.objects.filter(project=project))


@pytest.fixture
def at_now(monkeypatch):
    monkeypatch.setattr("dashboard.shared.session_state.shown_moment", lambda: NOW)


@pytest.mark.usefixtures("at_now")
def test_each_condition_and_any_tree_of_them_selects_as_python_does(recorded):
    sessions = shown_sessions(recorded)
    assert len(sessions) > 12
    truth = {text: {s.session_id for s in sessions if holds(s)} for text, holds in LEAVES.items()}
    assert {text: selected(recorded, text) for text in LEAVES} == truth
    every = {session.session_id for session in sessions}

    def evaluated(node):
        match node:
            case And(nodes):
                return set.intersection(*map(evaluated, nodes))
            case Or(nodes):
                return set.union(*map(evaluated, nodes))
            case Not(inner):
                return every - evaluated(inner)
            case _:
                return truth[print_query(node)]

    leaves = st.sampled_from([parse(text) for text in LEAVES])
    trees = st.recursive(
        leaves,
        lambda inner: (
            inner.map(Not)
            | st.lists(inner, min_size=2, max_size=3)
            .map(tuple)
            .flatmap(lambda of: st.sampled_from([And(of), Or(of)]))
        ),
        max_leaves=8,
    )

    @settings(max_examples=60)
    @given(trees)
    def compare(node):
        assert selected(recorded, print_query(node)) == evaluated(parse(print_query(node)))

    compare()


def test_configs_are_found_by_key_label_and_id(recorded):
    config = ModelConfig.objects.filter(project=recorded, model__startswith="claude").first()
    label = chips([config.pk])[config.pk].label
    by_key = selected(recorded, f'config:"{config.key}"')
    assert by_key
    assert by_key <= selected(recorded, f'config:"{label}"')
    winners = {loop.session.session_id for loop in LoopRecord.objects.filter(is_selected=True)}
    assert selected(recorded, "has:winner") == winners
    won = LoopRecord.objects.filter(is_selected=True).first()
    assert won.session.session_id in selected(recorded, f'winner:"{won.config.model}"')


def test_other_records_match_by_their_own_keys_or_by_their_session(recorded):
    def pks(model, condition, text):
        return set(
            model.objects.filter(condition(recorded.pk, parse(text), NOW)).values_list("pk", flat=True)
        )

    loops = list(LoopRecord.objects.all())
    for text, holds in {
        "role:judge": lambda loop: loop.role == "judge",
        "-role:judge": lambda loop: loop.role != "judge",
        "turns:>1": lambda loop: loop.turns > 1,
        "status:failed": lambda loop: loop.outcome == "failed",
        "status:stale": lambda loop: loop.status in ("running", "pending") or loop.waiting > 0,
        "branch:won": lambda loop: loop.is_selected is True,
        "has:tool": lambda loop: loop.tool_calls > 0,
        "has:cost": lambda loop: loop.cost_nano is not None,
        "-has:error": lambda loop: loop.errors == 0,
        "has:[error,parent]": lambda loop: loop.errors > 0 or loop.session.parent_session_id != "",
        "has:parallel": lambda loop: loop.session.groups > 0,
        "is:pinned": lambda loop: loop.session.session_id == "plain",
        "session:waits": lambda loop: loop.session.session_id == "waits",
        "has:error role:normal": lambda loop: loop.errors > 0 and loop.role == "normal",
        "metadata.team:core": lambda loop: loop.session.session_id == "waits",
    }.items():
        assert pks(LoopRecord, loop_condition, text) == {loop.pk for loop in loops if holds(loop)}, text

    groups = list(ParallelGroupRecord.objects.all())
    assert groups
    for text, holds in {
        "evaluation:judged": lambda group: group.verdict == "judged",
        "loops:>=2": lambda group: group.branches.count() >= 2,
        "status:completed": lambda group: group.status == "completed",
        "turns:>1": lambda group: group.session.turns > 1,
        "has:winner": lambda group: group.branches.filter(is_selected=True).exists(),
        "has:error": lambda group: group.session.errors > 0,
        "has:parallel": lambda group: True,
    }.items():
        assert pks(ParallelGroupRecord, evaluation_condition, text) == {g.pk for g in groups if holds(g)}, (
            text
        )

    calls = list(ToolCall.objects.all())
    for text, holds in {
        "tool:edit": lambda call: call.tool_name == "edit",
        "tool.error:true": lambda call: call.state == "failed",
        "status:aborted": lambda call: call.state == "cut",
        "role:sub_agent": lambda call: call.loop.role == "sub_agent",
        "session:waits": lambda call: call.loop.session.session_id == "waits",
    }.items():
        assert pks(ToolCall, tool_call_condition, text) == {call.pk for call in calls if holds(call)}, text


CONDITIONS = [session_condition, loop_condition, evaluation_condition, tool_call_condition]
MODELS = [Session, LoopRecord, ParallelGroupRecord, ToolCall]


@pytest.mark.parametrize(
    ("condition", "model"), [*zip(CONDITIONS, MODELS, strict=True)], ids=lambda each: each.__name__
)
def test_every_key_is_answered_in_a_fixed_number_of_queries(
    recorded, condition, model, django_assert_max_num_queries
):
    words = [*(f"has:{word}" for word in KEYS["has"].choices), "has:metadata.x", "has:score.x"]
    states = [f"is:{word}" for word in KEYS["is"].choices]
    for text in [
        *(key.example for key in KEYS.values()),
        *words,
        *states,
        '"a phrase"',
        "wor*",
        "évaluation",
    ]:
        for query in (text, f"-{text}"):
            with django_assert_max_num_queries(4):
                list(model.objects.filter(condition(recorded.pk, parse(query), NOW)))


def test_the_deepest_and_longest_queries_run(recorded):
    deep = "(" * 15 + "a OR -b" + ")" * 15
    for text in [
        deep,
        "NOT " * 16 + "a",
        " ".join(["model:a"] * 64),
        " ".join(["word"] * 64),
        "turns:>999999999999999M",
    ]:
        selected(recorded, text)
    assert selected(recorded, "turns:<999999999999999M") == {s.session_id for s in shown_sessions(recorded)}
    for text in [
        "since:9999999w",
        "until:9999-12-31",
        "age:>9999999w",
        "duration:>9999999w",
        "cost:<999999999.999999999",
    ]:
        selected(recorded, text)


def test_nothing_of_another_project_is_found(recorded, feed):
    other = Project.objects.create(slug="other")
    for text in LEAVES:
        found = Session.objects.filter(session_condition(other.pk, parse(text), NOW), project=other)
        assert not found.exists(), text
    ModelConfig.objects.create(project=other, key="foreign", model="foreign", provider="x")
    assert selected(recorded, "config:foreign") == set()


def test_mine_are_the_sessions_whose_user_is_the_reader(recorded):
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    assert selected(recorded, "is:mine", user=ada) == {"waits"}
    assert selected(recorded, "is:mine", user=bob) == set()
    assert selected(recorded, "is:mine") == set()


def test_sessions_with_waste_and_those_in_which_it_became_an_alarm(recorded, feed):
    feed(*repeating("again.a.1", times=4))
    feed(*repeating("twice.a.1", times=3))
    waste.run_all()

    found = {"again", "twice", "plain"}
    assert selected(recorded, "has:waste") & found == {"again", "twice"}
    assert selected(recorded, "is:wasteful") & found == {"again"}
