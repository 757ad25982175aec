"""Notes on the session page: marks, places, rail, roles, as of an event; and the pages that write them."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from recorder.journal import append
from recorder.models import (
    EventRecord,
    JournalEvent,
    LoopRecord,
    Membership,
    Mention,
    Note,
    ParallelGroupRecord,
    Turn,
)
from recorder.notes import targets, write
from recorder.notes.definitions import Draft, define
from recorder.notes.write import Author
from recorder.operations import retention
from tests.support import build

LOOP = "s.a.1"


@pytest.fixture
def recorded(project, feed):
    feed(
        build.agent_start(LOOP),
        build.turn_start(LOOP),
        build.turn_end(LOOP, message=build.assistant("First answer.")),
        build.turn_start(LOOP, index=1, at=3),
        build.turn_end(LOOP, at=4, message=build.assistant("Second answer.")),
        build.agent_end(LOOP),
    )
    define(project, Draft("quality", "number", 1, 5, meaning="How good it is"), "mira")
    define(project, Draft("solved", "category", categories=("yes", "no"), targets=("session",)), "mira")
    return project


@pytest.fixture
def author(recorded):
    user = User.objects.create_user("mira")
    recorded.memberships.create(user=user)
    return Author("mira", user=user)


@pytest.fixture
def noted(recorded, author):
    """Write a note, a score and a bookmark on the second turn, and a note on the session."""
    turn = targets.find(recorded.pk, "s", loop=LOOP, turn=1)
    write.add_note(recorded.pk, author, turn, "Why **this**?")
    write.give_score(recorded.pk, author, turn, "quality", 4)
    write.add_bookmark(recorded.pk, author, turn)
    write.add_note(recorded.pk, author, targets.find(recorded.pk, "s"), "Merged.")
    return recorded


def turn_panel(ordinal):
    return f"session-turn-{Turn.objects.get(ordinal=ordinal).pk}"


def form_url(session, **query):
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    return f"/p/default/sessions/{session.sessions.get().pk}/notes/new?{pairs}"


def test_a_turn_shows_its_marks_and_its_notes_in_place(noted, loop):
    page = loop("1")
    part = page.part(turn_panel(1))
    assert "quality 4" in part
    assert "Why this ?" in part or "Why this?" in part
    assert "Merged." not in part
    assert "Why" not in page.part(turn_panel(0))
    assert "<strong>this</strong>" in page.html


def test_the_rail_is_ordered_by_place_and_filtered_by_the_url(noted, loop):
    assert "rail" not in [element.id for element in loop("1").root.walk()]
    text = loop("1", query="?notes=all").part("rail")
    assert text.index("Merged.") < text.index("Why")
    assert "All Notes 2 Scores 1 Bookmarks 1" in text
    scores = loop("1", query="?notes=scores").part("rail")
    assert "quality 4" in scores
    assert "Merged." not in scores


def test_the_tree_and_the_button_count_notes(noted, loop):
    page = loop("1")
    row = page.part(f"session-loop-row-{LoopRecord.objects.get().pk}")
    assert "Notes: 3" in row or " 3 " in row
    assert page.part(f"session-count-{noted.sessions.get().pk}") == "4"


def test_the_timeline_counts_the_notes_of_loops_and_turns(noted, loop):
    pk = noted.sessions.get().pk
    timeline = loop("1", query="?tab=timeline").part(f"session-timeline-{pk}")
    assert "No prompt 3 9.0s" in timeline, "on the lane of the loop"
    assert "Turn 1 7.0s Turn 2 1 1 1.0s" in timeline
    anchor = EventRecord.objects.filter(type="TurnEnd").latest("pk").pk
    before = loop("1", query=f"?tab=timeline&at={anchor - 1}")
    assert "Turn 2 1" not in before.part(f"session-timeline-{pk}")
    assert ("mark-bookmark" in loop("1", query="?tab=timeline").html, "mark-bookmark" in before.html) == (
        1,
        0,
    )


def test_the_event_that_anchors_notes_counts_them(noted, loop):
    anchor = EventRecord.objects.filter(type="TurnEnd").latest("pk").pk
    page = loop("1", query="?tab=events")
    assert "TurnEnd 1 1 stop" in page.part(f"session-event-{anchor}")
    assert page.html.count("mark-bookmark") == 1
    note = Note.objects.earliest("pk")
    assert f"/p/default/notes/{note.pk}" in page.links
    assert page.html.count('title="1 note"') == 2, "the note on the session is at the newest event"
    assert 'title="1 note"' not in loop("1", query=f"?tab=events&at={anchor - 1}").html
    assert 'title="1 note"' in loop("1", query=f"?tab=events&at={anchor}").html


def test_as_of_an_event_a_note_is_shown_from_its_anchor_on(noted, loop):
    anchor = EventRecord.objects.filter(type="TurnEnd").latest("pk").pk
    assert "Why" not in loop("1", query=f"?at={anchor - 1}&notes=all").text
    then = loop("1", query=f"?at={anchor}&notes=all")
    assert "Why" in then.text
    assert "Merged." not in then.text
    assert "note-dialog" not in [element.id for element in then.root.walk()]


def test_as_of_an_event_a_note_and_a_score_are_as_they_were_then(noted, author, loop):
    anchor = EventRecord.objects.latest("pk").pk
    turn = targets.find(noted.pk, "s", loop=LOOP, turn=1)
    write.edit(Note.objects.get(text="Why **this**?"), author, text="Because.")
    write.give_score(noted.pk, author, turn, "quality", 2)
    then = loop("1", query=f"?at={anchor}&notes=all").text
    assert ("Why" in then, "Because." in then) == (True, False)
    assert ("quality 4" in then, "quality 2" in then) == (True, False)
    assert "Because." in loop("1", query="?notes=all").text


def test_a_viewer_reads_notes_and_cannot_write_them(noted, loop, reader):
    Membership.objects.filter(user__username="reader").update(role="viewer")
    page = loop("1", query="?notes=all")
    assert "Why" in page.text
    assert "may-note" not in page.html
    assert reader.get(form_url(noted)).status_code == 403
    assert reader.post(form_url(noted), {"text": "x"}).status_code == 403
    note = Note.objects.filter(kind="note").first()
    assert "Members can write them" in reader.get(f"/p/default/notes/{note.pk}").content.decode()
    assert reader.post(f"/p/default/notes/{note.pk}", {"action": "resolve"}).status_code == 403


def test_notes_are_shown_as_inert_markdown(noted, author, loop):
    hostile = (
        "<script>window.__pwned = 1</script> [x](javascript:alert(1)) ![i](http://x/i.png) "
        '<img src=x onerror=alert(1)> [here](/p/default/settings) <a href="//x">y</a> \u202egnp'
    )
    turn = targets.find(noted.pk, "s", loop=LOOP, turn=0)
    write.add_note(noted.pk, author, turn, hostile)
    html = loop("1", query="?notes=all").html
    shown = html[html.index("window.__pwned") - 200 :][:1500]
    assert "<script>window" not in html
    assert "&lt;script&gt;" in shown
    for dangerous in ('href="javascript', "<img src=x", 'href="/p/default/settings">here', '<a href="//x"'):
        assert dangerous not in html


def test_forms_write_without_javascript_and_lead_to_the_place(recorded, reader):
    loop = LoopRecord.objects.get().pk
    response = reader.post(form_url(recorded, loop=loop, turn=0), {"text": "Look."})
    note = Note.objects.get()
    assert response["Location"].endswith(f"/loops/{loop}?turn=1&notes=all#note-{note.pk}")
    assert (note.author, note.target, note.turn) == ("reader", "turn", 0)
    url = form_url(recorded, loop=loop, turn=0, kind="score", name="quality")
    assert "How good it is" in reader.get(url).content.decode()
    reader.post(url, {"name": "quality", "value": "3"})
    assert Note.objects.get(kind="score").value == 3
    reader.post(form_url(recorded, loop=loop, turn=0, kind="bookmark"), {})
    assert Note.objects.filter(kind="bookmark").count() == 1
    page = reader.get(form_url(recorded, kind="score")).content.decode()
    assert "solved" in page


def test_an_error_is_shown_in_the_form_and_the_text_stays(recorded, reader):
    url = form_url(recorded, kind="score", name="quality")
    html = reader.post(url, {"name": "quality", "value": "9", "text": "My reason"}).content.decode()
    assert "The score quality takes a number from 1 to 5." in html
    assert "My reason" in html
    assert not Note.objects.exists()


def test_htmx_gets_the_fragment_and_an_empty_answer_when_it_is_written(recorded, reader):
    headers = {"HX-Request": "true"}
    assert "<html" not in reader.get(form_url(recorded), headers=headers).content.decode()
    assert reader.post(form_url(recorded), {"text": "x"}, headers=headers).status_code == 204


def test_a_note_is_answered_resolved_changed_and_deleted_on_its_page(noted, reader, author):
    note = Note.objects.filter(kind="note").latest("pk")
    url = f"/p/default/notes/{note.pk}"
    reader.post(url, {"action": "reply", "text": "Because."})
    for reply in ("9" * 5_000, "x", "-1"):
        assert reader.post(url, {"action": "edit", "of": reply, "text": "No."}).status_code == 404
    reader.post(url, {"action": "resolve"})
    note.refresh_from_db()
    assert (note.replies.get().text, note.resolved_by) == ("Because.", "reader")
    reader.post(url, {"action": "reopen"})
    note.refresh_from_db()
    assert note.resolved_at is None
    assert reader.post(url, {"action": "edit", "text": "No."}).status_code == 403
    mira = Client()
    mira.force_login(author.user)
    mira.post(url, {"action": "edit", "text": "Yes."})
    note.refresh_from_db()
    assert (note.text, note.edited_at is not None) == ("Yes.", True)
    mira.post(url, {"action": "delete"})
    assert not Note.objects.filter(pk=note.pk).exists()


def test_pages_of_notes_belong_to_their_project(noted, reader):
    User.objects.create_superuser("root")
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))
    note = Note.objects.first()
    assert stranger.get(f"/p/default/notes/{note.pk}").status_code == 404
    assert stranger.post(form_url(noted), {"text": "x"}).status_code == 404
    other = type(noted).objects.create(slug="other")
    other.memberships.create(user=User.objects.get(username="reader"))
    assert reader.get(f"/p/other/notes/{note.pk}").status_code == 404
    assert reader.get(form_url(noted).replace("default", "other")).status_code == 404


def test_a_mention_is_marked_and_read_when_the_note_is_opened(noted, author, reader, loop, see):
    turn = targets.find(noted.pk, "s", loop=LOOP, turn=0)
    note = write.add_note(noted.pk, author, turn, "@reader, look. `@reader`").note
    assert "<strong>@reader</strong>, look. <code>@reader</code>" in loop("1").html
    assert Mention.objects.get().seen_at is None
    assert "Notes that mention you 1" in see("/p/default/attention").text
    assert "0 open questions, 0 unread failures, 1 unread mention" in loop("1").html
    reader.get(f"/p/default/notes/{note.pk}")
    assert Mention.objects.get().seen_at is not None
    assert "look." not in see("/p/default/attention").text
    assert "unread mention" not in loop("1").html


def test_an_evaluation_shows_its_notes(feed, project, author, see, reader):
    feed(tape="03-parallel-judge", flush=True)
    group = ParallelGroupRecord.objects.select_related("session").get()
    target = targets.find(project.pk, group.session.session_id, evaluation=group.pk)
    write.add_note(project.pk, author, target, "The **judge** is wrong.")
    page = see(f"/p/default/evaluations/{group.pk}")
    assert "The judge is wrong." in page.part(f"evaluations-notes-{group.pk}")
    url = f"/p/default/sessions/{group.session.pk}/notes/new?evaluation={group.pk}"
    response = reader.post(url, {"text": "Agreed."})
    assert response["Location"].startswith(f"/p/default/evaluations/{group.pk}#note-")
    assert Note.objects.latest("pk").target == "evaluation"


def test_the_leaderboard_shows_the_mean_of_a_chosen_score_apart_from_wins(feed, project, author, see, reader):
    feed(tape="03-parallel-judge", flush=True)
    for loop in LoopRecord.objects.filter(role="branch").select_related("session"):
        target = targets.find(project.pk, loop.session.session_id, loop=loop.pk)
        for n in range(5):
            ci = Author("ci", "code", token=n)
            write.give_score(project.pk, ci, target, "quality", 2 + n % 3)
    wins = see("/p/default/leaderboard")
    assert "outcome=quality" in " ".join(wins.links)
    page = see("/p/default/leaderboard?outcome=quality")
    assert "2.80" in page.text
    assert "win rate" not in page.text.lower()
    assert "2.80" not in wins.text
    csv = reader.get("/p/default/leaderboard?outcome=quality&format=csv").content.decode()
    assert csv.startswith("config,scores,mean,ci_low,ci_high")
    assert "outcome=nothing" not in see("/p/default/leaderboard?outcome=nothing").text


def test_an_export_has_the_notes_and_events_stay_as_recorded(noted, reader):
    def exported(*options):
        out = StringIO()
        call_command("export_session", "s", *options, stdout=out)
        return out.getvalue()

    html = exported("--as", "html")
    assert "<strong>this</strong>" in html
    assert "Merged." in html
    whole = json.loads(exported("--with-notes"))
    assert [note["kind"] for note in whole["notes"]] == ["note", "score", "bookmark", "note"]
    assert whole["session"] == json.loads(exported())
    assert "Merged." not in exported("--as", "events")
    with pytest.raises(CommandError):
        exported("--as", "events", "--with-notes")
    session = reader.get("/api/v1/sessions/s").json()
    assert session["notes"] == {"notes": 2, "scores": 1, "bookmarks": 1}
    anchor = EventRecord.objects.filter(type="TurnEnd").latest("pk").pk
    then = reader.get(f"/api/v1/sessions/s?at={anchor - 1}").json()
    assert then["notes"] == {"notes": 0, "scores": 0, "bookmarks": 0}


def test_pruning_leaves_notes(noted, loop):
    append.mark_consolidated(list(JournalEvent.objects.values_list("pk", flat=True)), timezone.now())
    retention.prune(noted, timezone.now() + timedelta(days=40))
    page = loop("1", query="?notes=all")
    assert "message content is no longer available" in page.text
    assert "Why this" in page.part(turn_panel(1))
    assert "Merged." in page.part("rail")


def test_admins_define_scores_in_the_settings(recorded, reader, see):
    url = "/p/default/settings/scores"
    sent = {"name": "style", "kind": "category", "categories": "good, bad", "targets": ["turn"]}
    assert reader.post(url, sent).status_code == 403
    Membership.objects.filter(user__username="reader").update(role="admin")
    assert reader.post(url, sent)["Location"].endswith("#scores")
    text = see("/p/default/settings").part("scores")
    assert "style one of good, bad turn all 0" in text
    assert reader.post(url, sent).status_code == 400
    reader.post(url, {"delete": "style"})
    assert "style" not in see("/p/default/settings").part("scores")


def test_a_page_takes_the_same_queries_whatever_the_number_of_notes(noted, author, loop):
    def queries():
        with CaptureQueriesContext(connection) as captured:
            loop("1", query="?notes=all")
        return len(captured)

    for turn in (0, 1):
        write.add_note(noted.pk, author, targets.find(noted.pk, "s", loop=LOOP, turn=turn), "@mira")
    few = queries()
    for turn in (0, 1):
        target = targets.find(noted.pk, "s", loop=LOOP, turn=turn)
        for n in range(25):
            write.add_note(noted.pk, author, target, f"note {n} @mira")
    assert queries() <= few


def test_notes_of_a_withdrawn_turn_are_on_the_session(noted, loop, session):
    Note.objects.filter(target="turn").update(loop_id="gone.a.1", loop=999_999)
    assert "Why" in session(query="?notes=all").part("rail")
