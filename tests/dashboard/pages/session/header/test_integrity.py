"""The integrity strip of a session."""

from recorder.ingest.commit.pipeline import Batch, ingest
from tests.dashboard.pages.session.conftest import words
from tests.support import build


def test_the_strip_counts_inconsistencies(feed, session):
    feed(*build.small_loop("s.a.1"))
    assert "1 inconsistency" not in session().text

    feed(build.turn_start("s.a.1", index=5))
    feed(b"{", rejects=1, producer=None)
    assert "1 inconsistency" in session().text


def test_the_strip_of_a_complete_session_says_so(feed, session):
    feed(*build.small_loop("s.a.1"))

    strip = next(e for e in session().root.walk() if e.attributes.get("class") == "integrity")

    assert "Recording complete" in words(strip.html())


def test_the_strip_of_an_open_session_says_no_more_than_that_nothing_is_missing(feed, session):
    feed(build.agent_start("s.a.1"))
    assert "No gaps" in session().text
    assert "Recording complete" not in session().text


def test_the_strip_counts_and_links_late_unknown_rejected_conflicting_and_orphan_events(
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
    text = words(strip.html())

    for part in ("late event", "1 event of unknown type", "1 line with a duplicate sequence number"):
        assert part in text
    for part in ("1 rejected line", "1 orphan event", "inconsistenc"):
        assert part in text
    links = [e.attributes["href"] for e in strip.walk() if e.tag == "a"]
    assert len(links) >= 5
    assert all(href.startswith("/p/default/") for href in links)
