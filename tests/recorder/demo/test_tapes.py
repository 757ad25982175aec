"""The demo: its tapes are valid phi-core streams, and playing them goes through the ingest endpoint."""

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from recorder.core.events import SourceEvent
from recorder.core.events.fields import parse_timestamp
from recorder.core.formats import native
from recorder.demo.schedule import SCHEDULE, SECONDS, moments
from recorder.demo.tape import line, load

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ACTS = pytest.mark.parametrize("act", SCHEDULE, ids=lambda act: act.name)


def played(act):
    """Return the events of an act as they go out when it begins at NOW."""
    tape = load(act.name, stretched=act.recorded)
    return [json.loads(line(tape, cue, NOW, lambda place: place)) for cue in tape.cues]


@ACTS
def test_every_line_is_an_event_that_we_know(act):
    tape = load(act.name, stretched=act.recorded)
    for cue in tape.cues:
        event = native.parse(line(tape, cue, NOW, lambda place: place))
        assert not isinstance(event, SourceEvent)


@ACTS
def test_every_loop_that_begins_ends_once(act):
    events = played(act)
    begun = [event["loop_id"] for event in events if event["type"] == "AgentStart"]
    ended = [event["loop_id"] for event in events if event["type"] == "AgentEnd"]
    assert sorted(begun) == sorted(ended)


@ACTS
def test_a_play_has_ids_of_its_own_and_names_the_same_loop_the_same_everywhere(act):
    first, second = played(act), played(act)
    ids = {event["session_id"] for event in first if event["type"] == "AgentStart"}
    assert not ids & {event["session_id"] for event in second if event["type"] == "AgentStart"}
    begun = {event["loop_id"] for event in first if event["type"] == "AgentStart"}
    for event in first:
        if event["type"] == "AgentStart":
            assert event["parent_loop_id"] is None or event["parent_loop_id"] in begun
        if event["type"] == "TurnEnd" and "turnId" in event["message"]:
            assert event["message"]["turnId"]["loopId"] == event["loop_id"]


@ACTS
def test_times_count_from_the_start_of_the_play_and_never_go_back(act):
    events = played(act)
    times = [
        parse_timestamp(event["timestamp"]) for event in events if isinstance(event.get("timestamp"), str)
    ]
    assert NOW <= times[0] < NOW + timedelta(seconds=2)
    assert all(after >= before - timedelta(milliseconds=1) for before, after in pairwise(times))
    assert times[-1] - times[0] < timedelta(minutes=2)


@ACTS
def test_what_streams_in_is_what_the_message_says(act):
    streamed: dict[str, str] = {}
    for event in played(act):
        message = event.get("message") or {}
        if message.get("role") != "assistant":
            continue
        loop_id = event["loop_id"]
        if event["type"] == "MessageStart":
            streamed[loop_id] = ""
        elif event["type"] == "MessageUpdate":
            streamed[loop_id] += "".join(delta["delta"] for delta in event["delta"].values())
        elif event["type"] == "MessageEnd":
            texts = [part.get("thinking") or part.get("text") or "" for part in message["content"]]
            assert streamed[loop_id].startswith("".join(texts))


def test_the_programme_takes_two_to_three_minutes_and_overlaps():
    score = list(moments())
    assert [moment.at for moment in score] == sorted(moment.at for moment in score)
    assert 120 < score[-1].at < SECONDS
    ends = {moment.act: moment.at for moment in score}
    overlaps = sum(ends[act] > SCHEDULE[act + 1].starts_at for act in range(len(SCHEDULE) - 1))
    assert overlaps >= 5


def test_text_streams_at_the_pace_of_a_reader():
    score = [moment for moment in moments() if moment.cue.event["type"] == "MessageUpdate"]
    by_loop: dict[object, list[float]] = {}
    for moment in score:
        by_loop.setdefault(moment.cue.event["loop_id"], []).append(moment.at)
    busiest = max(
        sum(1 for at in times if start <= at < start + 1)
        for times in by_loop.values()
        for start in times[::20]
    )
    assert busiest <= 30
