"""Notes and scores as of an event are as they were then."""

from recorder.models import EventRecord, NoteRevision
from recorder.notes.write import delete_of_session
from tests.dashboard.api.writes.test_notes import LOOP, on, person, program, session
from tests.support import build

__all__ = ["person", "program", "session"]


def test_as_of_an_event_an_entry_is_as_it_was_then(program, person, session, feed):
    mira = person("mira")
    score = {"name": "quality", "target": {"session_id": "s", "turn": 0, "loop": LOOP}}
    first = program("post", "notes", 201, value=1, **score)["target"]["event"]
    note = mira("post", "notes", 201, text="first", target=on("s"))
    before = EventRecord.objects.latest("pk").pk
    program("post", "notes", 200, value=4, **score)
    program("post", "notes", 200, value=5, **score)  # no event lies between the two
    mira("patch", f"notes/{note['id']}", 200, text="second")
    feed(build.progress(LOOP))
    between = EventRecord.objects.latest("pk").pk
    program("post", "notes", 200, value=2, **score)
    mira("patch", f"notes/{note['id']}", 200, resolved=True)
    feed(build.progress(LOOP))
    after = EventRecord.objects.latest("pk").pk

    def at_event(at):
        items = program("get", f"notes?session_id=s{at}")["items"]
        return [item["value"] or (item["text"], item["resolved_by"]) for item in items]

    assert at_event(f"&at={first}") == [1]
    assert at_event(f"&at={before}") == [1, ("first", None)]
    assert at_event(f"&at={between}") == [5, ("second", None)]
    assert at_event(f"&at={after}") == at_event("") == [2, ("second", "mira")]


def test_earlier_states_are_deleted_with_their_entry(program, person, session, project):
    mira = person("mira")
    note = mira("post", "notes", 201, text="first", target=on("s"))
    mira("patch", f"notes/{note['id']}", 200, text="second")
    assert NoteRevision.objects.get().text == "first"
    mira("delete", f"notes/{note['id']}", 204)
    assert not NoteRevision.objects.exists()

    reply = mira("post", "notes", 201, text="first", target=on("s"))
    mira("patch", f"notes/{reply['id']}", 200, text="second")
    delete_of_session(project.pk, "s")
    assert not NoteRevision.objects.exists()
