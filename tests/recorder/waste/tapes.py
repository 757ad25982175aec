"""Every recorded stream of the repository, recorded into a project, and what was found in it."""

from pathlib import Path

from recorder.ingest.commit.pipeline import Batch, ingest
from tests.recorder.imports.test_bad_stores import bring_in
from tests.recorder.journal.spans import captures

TAPES = Path(__file__).parents[2] / "tapes"
DEMO = Path(__file__).parents[3] / "recorder" / "demo" / "tapes"
FORMS = ("claude-code", "codex", "gemini-cli", "pi", "opencode")
STREAMS = [*sorted(TAPES.glob("phi-core/*.events.jsonl")), *sorted(DEMO.glob("*.jsonl"))]
IMPORTED = sorted(
    [
        *(path for form in FORMS for path in (TAPES / form).iterdir()),
        *(TAPES / "cagent").glob("*.db"),
        *(TAPES / "cagent").glob("*.jsonl"),
        TAPES / "aidaemon",
        TAPES / "grida",
    ]
)


def play(project, path):
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    ingest(Batch(project.pk, path.name, None, lines, "native"))


def play_everything(project):
    """Record all streams, stores and captures."""
    for path in STREAMS:
        play(project, path)
    for path in IMPORTED:
        bring_in(path)
    for capture in captures.CAPTURES:
        for batch in captures.lines(capture):
            captures.record(project, batch)
