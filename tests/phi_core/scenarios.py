"""Recordings of phi-core in `tapes/phi-core`: event streams, and the sessions of its own recorder."""

import json
from pathlib import Path
from types import SimpleNamespace

from recorder.core.formats import InvalidLineError
from tests.phi_core.session_recorder import SessionRecorder

FOLDER = Path(__file__).parents[1] / "tapes/phi-core"
TAPES = sorted(FOLDER.glob("*.events.jsonl"))


def rows(name):
    return [json.loads(line) for line in (FOLDER / name).read_bytes().splitlines()]


TOLERANCE = rows("wire-tolerance.jsonl")
CASES = {case["name"]: case for case in rows("recorder-cases.jsonl")}


def events(tape):
    return rows(tape.name)


def sessions(tape, kind="sessions"):
    """Return the sessions of phi-core's recorder for a tape, by session_id."""
    made = json.loads((FOLDER / tape.name.replace("events.jsonl", f"{kind}.json")).read_bytes())
    return {session["session_id"]: session for session in made}


def tape(number):
    (found,) = [tape for tape in TAPES if tape.name.startswith(number)]
    return found


def record(tape, **options):
    """Record a whole tape and flush."""
    recorder = SessionRecorder(**options)
    for event in events(tape):
        recorder.on_event(event)
    recorder.flush()
    return recorder


def run(case):
    """Run the operations of a recorder case; return the recorder and the results of each operation."""
    results = SimpleNamespace(calls=[], promoted=[], drained=[], refused=[])
    recorder = SessionRecorder(
        **case["config"],
        before_task=lambda s: results.calls.append(("before_task", s["session_id"], len(s["loops"]))),
        after_task=lambda s: results.calls.append(("after_task", s["session_id"], len(s["loops"]))),
    )
    for op in case["ops"]:
        match op["op"]:
            case "event":
                try:
                    recorder.on_event(op["event"])
                except InvalidLineError as error:
                    results.refused.append(error.code)
            case "flush":
                recorder.flush()
            case "checkpoint":
                results.promoted.append(recorder.checkpoint())
            case "drain":
                results.drained += recorder.drain_completed()
    return recorder, results
