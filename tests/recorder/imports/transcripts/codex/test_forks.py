"""Forks of Codex: the history that they copy is recorded once, where its origin comes or never comes."""

from itertools import permutations

import pytest

from recorder.models import Session
from tests.recorder.imports.transcripts.test_codex import DONE, answered, counted, task
from tests.recorder.imports.transcripts.test_codex_tasks import asked

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3_600


def moment(second):
    return f"2026-11-22T{15 + second // HOUR:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def turn_id(form, second, number):
    milliseconds = (1_795_359_600 + second) * 1000  # of 2026-11-22T15:00:00Z
    text = f"{milliseconds:012x}"
    return f"{text[:8]}-{text[8:]}-7000-8000-{number:012x}" if form == "timed" else f"T{number}"


def own_task(form, second, number, total):
    payloads = task(turn_id(form, second, number)), asked(f"Do {number}"), answered(), counted(total), DONE
    return [
        {"timestamp": moment(second + at), "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate(payloads)
    ]


def rollout(name, began, *tasks, of=None):
    """Return a rollout that begins with the copy of another one, in one burst, and goes on with tasks."""
    payload = {"id": name, "timestamp": moment(began), "cwd": "/home/dev", "model_provider": "openai"}
    if of is not None:
        payload["forked_from_id"] = of[0]["payload"]["id"]
    copied = [line | {"timestamp": moment(began + 1)} for line in of or []]
    head = {"timestamp": moment(began), "type": "session_meta", "payload": payload}
    return [head, *copied, *(line for lines in tasks for line in lines)]


def family(form):
    """Return an origin that goes on after its fork, the fork, and a fork of the fork."""
    shared = [own_task(form, 10 * number, number, number) for number in (1, 2)]
    early = rollout("origin", 0, *shared)
    origin = rollout("origin", 0, *shared, own_task(form, 2 * HOUR, 3, 3))
    fork = rollout("fork", HOUR, own_task(form, HOUR + 10, 4, 3), of=early)
    return origin, fork, rollout("last", 3 * HOUR, own_task(form, 3 * HOUR + 10, 5, 4), of=fork)


def recorded(loops):
    return sorted((loop.session.session_id, loop.title, loop.turns, loop.output_tokens) for loop in loops)


def once(session, *numbers):
    return [(session, f"Do {number}", 1, 10) for number in numbers]


@pytest.mark.parametrize("form", ["timed", "plain"])
def test_a_fork_whose_origin_never_comes_records_its_history(record, form):
    _, fork, _ = family(form)

    loops = record("codex", fork)

    assert recorded(loops) == once("fork", 1, 2, 4)
    assert [loop.started_at.hour for loop in loops] == ([15, 15, 16] if form == "timed" else [16, 16, 16])


@pytest.mark.parametrize("form", ["timed", "plain"])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_history_of_a_fork_is_of_its_origin_whenever_that_comes(record, form, order):
    files = family(form)

    loops = record("codex", *(files[at] for at in order))

    assert recorded(loops) == [*once("fork", 4), *once("origin", 1, 2, 3)]


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_a_fork_of_a_fork_counts_nothing_again_in_any_order(record, order):
    files = family("timed")

    loops = record("codex", *(files[at] for at in order))

    assert recorded(loops) == [*once("fork", 4), *once("last", 5), *once("origin", 1, 2, 3)]


@pytest.mark.parametrize("form", ["timed", "plain"])
def test_forks_of_an_origin_that_never_comes_record_its_tasks_once(record, form):
    shared = rollout("origin", 0, own_task(form, 10, 1, 1))
    forks = [rollout(name, HOUR, own_task(form, HOUR + 10, 2, 2), of=shared) for name in ("one", "two")]
    if form == "timed":
        forks[1] = rollout("two", HOUR, own_task(form, HOUR + 10, 3, 2), of=shared)

    found = recorded(record("codex", *forks))

    assert [title for _, title, *_ in found].count("Do 1") == 1
    assert sum(output for *_, output in found) == 30


def without_marks(rollout):
    marks = ("task_started", "task_complete")
    return [line for line in rollout if line["payload"].get("type") not in marks]


@pytest.mark.parametrize("has_origin", [True, False])
@pytest.mark.parametrize("is_early", [True, False])
def test_forks_without_marks_record_their_history_once(record, has_origin, is_early):
    """The copies have the time of the fork, or the head of the origin or all of them their own time."""
    shared = rollout("origin", 0, own_task("plain", 10, 1, 1), own_task("plain", 20, 2, 2))
    forks = [
        rollout(name, at, own_task("plain", at + 10, number, 3), of=shared)
        for name, at, number in (("one", HOUR, 3), ("two", 2 * HOUR, 4))
    ]
    for fork in forks:
        fork[1 : len(shared) + 1] = shared if is_early else [shared[0], *fork[2 : len(shared) + 1]]
    files = [without_marks(each) for each in ([shared, *forks] if has_origin else forks)]

    found = recorded(record("codex", *files))

    owner = "origin" if has_origin else "one"
    own = [*once("one", 3), *once("two", 4)]
    assert found == sorted([*once(owner, 1, 2), *own])


def test_a_fork_of_a_fork_alone_records_all_of_its_history(record):
    *_, last = family("timed")

    assert recorded(record("codex", last)) == once("last", 1, 2, 4, 5)


def test_a_fork_without_a_task_of_its_own_is_no_session_once_its_origin_is_there(record):
    origin = rollout("origin", 0, own_task("timed", 10, 1, 1))
    fork = rollout("fork", HOUR, of=origin)

    assert recorded(record("codex", fork)) == once("fork", 1)
    project = record("codex", fork, origin).get().session.project
    assert [each.session_id for each in Session.objects.filter(project=project)] == ["origin"]
