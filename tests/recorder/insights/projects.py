"""Projects with recorded tapes and loops that produce insights."""

from recorder.ingest.commit.pipeline import Batch, ingest
from tests.recorder.insights.fixtures import working
from tests.recorder.projection.test_store import NOW, TAPES, lines_of, send
from tests.support.build import line

PLANTED = [
    working(f"s{n}.coder.1", "read a.py", "test!", "edit a.py", "test", "commit") for n in range(4)
] + [working("s9.coder.1", "test!", "edit a.py", "test!", "edit b.py", "test")]


def quiet(*_):
    pass


def feed(project, *loops, producer="agent", **more):
    for loop in loops:
        assert not ingest(
            Batch(project.pk, producer, None, [line(each) for each in loop], received_at=NOW, **more)
        ).rejected


def world(project, tapes=6):
    """Record tapes of phi-core, and among them loops in which something is planted."""
    for number, tape in enumerate(TAPES[:tapes]):
        send(project, lines_of(tape), producer=f"p{number}")
        feed(project, *PLANTED[number : number + 1])
    return project
