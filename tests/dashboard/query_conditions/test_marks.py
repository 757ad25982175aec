"""Conditions on notes, scores and bookmarks select the sessions that have them."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.query_conditions.conditions import evaluation_condition, loop_condition, session_condition
from dashboard.query_language import parse
from recorder.models import LoopRecord, ParallelGroupRecord, Project, ScoreDefinition, Session
from recorder.notes.targets import Target, find
from recorder.notes.write import Author, add_bookmark, add_note, give_score
from tests.dashboard.pages.evaluations.branches import branch, end, start
from tests.dashboard.pages.session.conftest import feed
from tests.support import build

__all__ = ["feed"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project():
    return Project.objects.create(slug="default")


@pytest.fixture
def people():
    return [Author(name, user=User.objects.create_user(name)) for name in ("ada", "bob")]


@pytest.fixture
def marked(feed, project, people):
    """Sessions `one` and `two`, with entries of two people, and `three` without any."""
    for name in ("one", "two", "three"):
        feed(*build.small_loop(f"{name}.a.1", session_id=name))
    ada, bob = people
    kinds = ScoreDefinition.Kind
    for name, kind, fields in (
        ("quality", kinds.NUMBER, {"least": 1, "most": 5}),
        ("solved", kinds.BOOLEAN, {}),
        ("cause", kinds.CATEGORY, {"categories": ["time-out", "bug"]}),
        ("verdict", kinds.CATEGORY, {"categories": ["3", "10", "Übel"]}),
    ):
        ScoreDefinition.objects.create(project=project, name=name, kind=kind, **fields)
    for session, quality, solved, cause, verdict in (
        ("one", 4, True, "bug", "3"),
        ("two", 2, False, "time-out", "Übel"),
    ):
        target = Target("session", session, 0)
        give_score(project.pk, ada, target, "quality", quality)
        give_score(project.pk, ada, target, "solved", solved)
        give_score(project.pk, ada, target, "cause", cause)
        give_score(project.pk, ada, target, "verdict", verdict)
    add_note(project.pk, ada, Target("session", "one", 0), "A flaky test")
    add_bookmark(project.pk, bob, Target("session", "two", 0))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("score.quality:>=4", {"one"}),
        ("score.quality:2", {"two"}),
        ("-score.quality:<3", {"one", "three"}),
        ("score.solved:true", {"one"}),
        ("score.solved:false", {"two"}),
        ("score.cause:bug", {"one"}),
        ("score.cause:time*", {"two"}),
        ("score.cause:[bug,time-out]", {"one", "two"}),
        ("score.cause:Time*", set()),
        ("score.verdict:3", {"one"}),
        ('score.verdict:"3"', {"one"}),
        ("score.verdict:[3,10]", {"one"}),
        ("-score.verdict:3", {"two", "three"}),
        ("score.verdict:>1", set()),
        ("score.verdict:Ü*", {"two"}),
        ("has:score", {"one", "two"}),
        ("has:score.cause", {"one", "two"}),
        ("note:FLAKY", {"one"}),
        ("has:note", {"one"}),
        ("bookmark:true", {"two"}),
        ("-has:bookmark", {"one", "three"}),
    ],
)
def test_marks_are_found(marked, project, query, found):
    assert sessions(project, query) == found


def test_a_bookmark_is_its_readers(marked, project, people):
    ada, bob = people
    assert sessions(project, "is:bookmarked", ada.user) == set()
    assert sessions(project, "is:bookmarked", bob.user) == {"two"}


@pytest.fixture
def evaluated(feed, project, people):
    """Record two evaluations, with scores and notes on three loops, a turn, an event and an evaluation."""
    ada, bob = people
    for _ in range(2):
        feed(start(1, 2), *branch(1, "One."), *branch(2, "Two."), end(1))
    one, two, again, _ = LoopRecord.objects.order_by("pk")
    group = ParallelGroupRecord.objects.order_by("pk").first()
    scored = ScoreDefinition.Kind.NUMBER
    ScoreDefinition.objects.create(project=project, name="quality", kind=scored, least=1, most=5)
    on = lambda **where: find(project.pk, "s", **where)  # noqa: E731
    give_score(project.pk, ada, on(loop=one.pk), "quality", 1)
    give_score(project.pk, ada, on(loop=two.pk, turn=0), "quality", 5)
    give_score(project.pk, ada, on(evaluation=group.pk), "quality", 3)
    add_note(project.pk, ada, on(event=again.end_event), "flaky")
    add_bookmark(project.pk, bob, on(loop=two.pk))
    add_bookmark(project.pk, ada, on(evaluation=group.pk))


@pytest.mark.parametrize(
    ("query", "loops", "evaluations"),
    [
        ("score.quality:>=1", [0, 1], [0]),
        ("score.quality:5", [1], []),
        ("score.quality:3", [], [0]),
        ("-score.quality:5", [0, 2, 3], [0, 1]),
        ("note:flaky", [2], []),
        ("bookmark:true", [1], [0]),
        ("bookmark:false", [0, 2, 3], [1]),
        ("has:score", [0, 1], [0]),
        ("has:[score.quality,note]", [0, 1, 2], [0]),
        ("is:bookmarked", [1], [0]),
        ("is:[bookmarked,pinned]", [1], [0]),
    ],
)
def test_loops_and_evaluations_have_what_is_on_them(evaluated, project, query, loops, evaluations):
    assert places(LoopRecord, loop_condition, project, query) == loops
    assert places(ParallelGroupRecord, evaluation_condition, project, query) == evaluations


def places(model, condition, project, query):
    """Return the positions of the matching records in recorded order."""
    every = list(model.objects.order_by("pk").values_list("pk", flat=True))
    found = model.objects.filter(condition(project.pk, parse(query), timezone.now()))
    return sorted(every.index(pk) for pk in found.values_list("pk", flat=True))


def sessions(project, query, user=None):
    condition = session_condition(project.pk, parse(query), timezone.now(), user)
    return set(Session.objects.filter(condition, project=project).values_list("session_id", flat=True))
