"""The strip of a session: whether all of it is there, and what did not fit."""

from recorder.ingest.pipeline import Batch, ingest
from tests.dashboard.pages.session.conftest import words
from tests.support import build


def test_what_did_not_fit_is_on_the_strip_and_a_clean_session_has_none(feed, session):
    feed(*build.small_loop("s.a.1"))
    assert "did not fit" not in session().text

    feed(build.turn_start("s.a.1", index=5))
    feed(b"{", rejects=1, producer=None)
    assert "did not fit" in session().text


def test_the_strip_of_a_session_that_is_all_there_says_so(feed, session):
    feed(*build.small_loop("s.a.1"))

    strip = next(e for e in session().root.walk() if e.attributes.get("class") == "integrity")

    assert "Recorded without a gap; nothing refused, late or out of place" in words(strip.html())


def test_the_strip_counts_what_is_late_unknown_refused_in_conflict_or_without_its_loop_and_leads_there(
    project, feed, session
):
    def send(first, *lines):
        raw = [line if isinstance(line, bytes) else build.line(line) for line in lines]
        ingest(Batch(project.pk, "one", first, raw))

    send(0, *build.small_loop("s.a.1"))
    send(0, build.turn_start("s.a.1", index=7))
    count = len(list(build.small_loop("s.a.1")))
    late, unknown = build.turn_start("s.a.1", index=1), {**build.turn_start("s.a.1", index=2), "type": "New"}
    send(count, late, unknown, b"no json", build.turn_start("gone.b.1"))

    strip = next(e for e in session().root.walk() if e.attributes.get("class") == "integrity")
    said = words(strip.html())

    for part in ("came late", "1 event of an unknown type", "1 line with the number of another"):
        assert part in said
    for part in ("1 line refused", "1 event without a loop", "did not fit"):
        assert part in said
    links = [e.attributes["href"] for e in strip.walk() if e.tag == "a"]
    assert len(links) >= 5
    assert all(href.startswith("/p/default/") for href in links)
