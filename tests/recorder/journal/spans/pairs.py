"""Runs that coding agents sent as telemetry and wrote as transcripts, and what their records show."""

from pathlib import Path

from loopscope_client.transcripts.files import producer_name
from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.ingest.otlp.bodies import lines_of
from recorder.models import Session, Turn
from tests.recorder.journal.spans import captures

TAPES = Path(__file__).parents[3] / "tapes"
CLAUDE_CODE = ("claude-code/plain", "claude-code/write", "claude-code/parallel", "claude-code/task")
BOTH = "claude-code/both"  # two prompts of Claude Code 2.1.330, whose requests have ids
PAIRS = (*CLAUDE_CODE, BOTH, "codex/parallel", "gemini-cli/write")


def spans(pair):
    """Return the bodies of a run's telemetry."""
    agent, _, name = pair.partition("/")
    if pair == BOTH:
        bodies = sorted((TAPES / "both" / agent).glob("*.json"))
        return [lines_of(_signal(path), path.read_bytes(), is_json=True).lines for path in bodies]
    return captures.lines(f"coding_agents/{agent}-otlp/{name}")


def _signal(path):
    return path.stem.partition("-")[2]


def transcripts(pair):
    """Return the lines of a run's transcripts, by the names of their producers."""
    agent = pair.partition("/")[0]
    found = {}
    folder = TAPES / "both" / agent if pair == BOTH else TAPES / pair
    for path in sorted(folder.glob("*.jsonl")):
        lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
        found[producer_name(agent, path.name, lines[0])] = lines
    return found


def send(project, pair, producer, lines, first=0, *, flush=False):
    """Record lines of a transcript as the endpoint does."""
    agent = pair.partition("/")[0]
    return ingest(Batch(project.pk, producer, first, lines, agent, flush=flush))


def record_transcripts(project, pair):
    for producer, lines in transcripts(pair).items():
        send(project, pair, producer, lines, flush=True)


def record_spans(project, pair):
    for batch in spans(pair):
        captures.record(project, batch)


def shape(project):
    """Return all that does not depend on the order of arrival, with the costs of turns."""
    sessions = [
        {
            "source": session.source,
            "cost_source": session.cost_source,
            "metadata": {name: sorted(values) for name, values in (session.metadata or {}).items()},
            "head": session.head and session.head.loop_id,
            "turns": costs(session),
        }
        for session in Session.objects.filter(project=project).order_by("session_id")
    ]
    return {"shape": captures.shape(project), "sessions": sessions}


def costs(session):
    """Return cost, source and unpriced calls of each turn of a session."""
    turns = Turn.objects.filter(loop__session=session).order_by("loop__loop_id", "ordinal")
    return list(turns.values_list("loop__loop_id", "ordinal", "cost_nano", "cost_source", "unpriced"))


def without_costs(found):
    """Return a shape without costs and metadata: what a transcript alone gives as well."""
    if isinstance(found, dict):
        left_out = ("cost_nano", "cost_source", "metadata", "sessions")
        return {name: without_costs(value) for name, value in found.items() if name not in left_out}
    return [without_costs(each) for each in found] if isinstance(found, list) else found
