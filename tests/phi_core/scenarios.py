"""phi-core's own recordings in `tapes/phi-core`: streams, and what its recorder made of them."""

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
    """Return what phi-core's recorder made of a tape, by session_id."""
    made = json.loads((FOLDER / tape.name.replace("events.jsonl", f"{kind}.json")).read_bytes())
    return {session["session_id"]: session for session in made}


def tape(number):
    (found,) = [tape for tape in TAPES if tape.name.startswith(number)]
    return found


def record(tape, **options):
    """Play a whole tape and flush."""
    recorder = SessionRecorder(**options)
    for event in events(tape):
        recorder.on_event(event)
    recorder.flush()
    return recorder


def run(case):
    """Do the operations of a recorder case; return the recorder and what was seen on the way."""
    seen = SimpleNamespace(calls=[], promoted=[], drained=[], refused=[])
    recorder = SessionRecorder(
        **case["config"],
        before_task=lambda s: seen.calls.append(("before_task", s["session_id"], len(s["loops"]))),
        after_task=lambda s: seen.calls.append(("after_task", s["session_id"], len(s["loops"]))),
    )
    for op in case["ops"]:
        match op["op"]:
            case "event":
                try:
                    recorder.on_event(op["event"])
                except InvalidLineError as refused:
                    seen.refused.append(refused.code)
            case "flush":
                recorder.flush()
            case "checkpoint":
                seen.promoted.append(recorder.checkpoint())
            case "drain":
                seen.drained += recorder.drain_completed()
    return recorder, seen
