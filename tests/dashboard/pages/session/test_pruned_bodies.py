"""The session page after bodies were pruned, and pins that prevent it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.journal import append
from recorder.models import (
    Compaction,
    EventRecord,
    JournalEvent,
    LoopRecord,
    Membership,
    Pin,
    Project,
    Session,
)
from recorder.operations import retention
from tests.phi_core.scenarios import FOLDER

pytestmark = pytest.mark.django_db(transaction=True)

NOW = timezone.now()
PAGES = (
    *("sessions", "integrity", "evaluations", "costs", "leaderboard", "settings"),
    *("attention", "insights", "compactions"),
)
TABS = (
    *("", "?tab=events", "?tab=events&scope=session", "?tab=timeline", "?tab=compactions"),
    *("?tab=json", "?tab=json&of=brief"),
)
PRUNED_TEXT = f"odies pruned on {NOW.day} {NOW:%b %Y}"


def pruned(project, tape, days=40):
    lines = (FOLDER / f"{tape}.events.jsonl").read_bytes().splitlines()
    ingest(Batch(project.pk, tape, None, lines, received_at=NOW - timedelta(days=days)))
    append.mark_consolidated(list(JournalEvent.objects.values_list("pk", flat=True)), NOW)
    return retention.prune(project, NOW)


def place(tab=""):
    loop = LoopRecord.objects.order_by("pk").first()
    return f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}{tab}"


def text(response):
    assert response.status_code == 200
    return response.content.decode()


def test_turns_without_bodies_show_the_pruning_date_and_keep_metrics_and_tools(reader, project):
    pruned(project, "01-tools-two-prompts")
    page = text(reader.get(place()))

    assert PRUNED_TEXT in page
    assert page.count("message content is no longer available") >= 2
    assert 'class="tool' in page
    assert "Arguments" not in page
    assert "empty</p>" not in page
    assert "This loop has no messages" not in page


def test_events_stay_listed_without_their_bodies(reader, project):
    pruned(project, "01-tools-two-prompts")
    page = text(reader.get(place("?tab=events")))

    assert page.count("body pruned on") == page.count('class="event-row"') > 5
    assert "Raw line" not in page
    assert 'hx-get="/p/default/events/' not in page
    assert "/events?project=default&amp;envelope=1" in page


def test_documents_that_need_bodies_are_gone(reader, project):
    pruned(project, "01-tools-two-prompts")
    assert PRUNED_TEXT in text(reader.get(place("?tab=json")))
    assert '"loop_id"' in text(reader.get(place("?tab=json&of=api"))).replace("&quot;", '"')

    assert PRUNED_TEXT in text(reader.get(f"/p/default/sessions/{Session.objects.get().pk}/search?q=tests"))
    pk, session = EventRecord.objects.first().pk, Session.objects.get()
    api = f"/api/v1/sessions/{session.session_id}"
    for url in (
        place("/record"),
        place(f"?at={pk}"),
        f"/p/default/events/{pk}/raw",
        f"/p/default/events/{pk}/text?at=message",
        f"{api}/export?as=phi-session",
        f"{api}/events",
        f"{api}?at={pk}",
    ):
        response = reader.get(url)
        assert (response.status_code, PRUNED_TEXT in response.content.decode()) == (410, True), url
    assert reader.get(f"/p/default/events/{pk}").status_code == 302


def test_the_read_api_returns_the_pruning_date(reader, project):
    pruned(project, "01-tools-two-prompts")
    (item,) = reader.get("/api/v1/sessions").json()["items"]
    assert item["pruned_on"] == f"{NOW:%Y-%m-%d}"


def test_the_envelopes_of_pruned_lines_stay(reader, project):
    pruned(project, "01-tools-two-prompts")
    response = reader.get(f"/api/v1/sessions/{Session.objects.get().session_id}/events?envelope=1")
    lines = b"".join(response.streaming_content).decode().splitlines()

    assert len(lines) == JournalEvent.objects.count()
    assert all(f'"event": null, "pruned_on": "{NOW:%Y-%m-%d}"' in each for each in lines)


def test_an_evaluation_keeps_its_metrics_and_marks_pruned_answers(reader, project):
    pruned(project, "03-parallel-judge")
    group = LoopRecord.objects.filter(group__isnull=False).first().group_id
    page = text(reader.get(f"/p/default/evaluations/{group}"))

    assert page.count(f"runed on {NOW.day} {NOW:%b %Y}") >= 3
    assert "The judge's reply is empty" not in page


@pytest.mark.parametrize("tape", sorted(path.name.split(".")[0] for path in FOLDER.glob("*.events.jsonl")))
def test_every_page_of_a_pruned_session_works(reader, project, tape):
    pruned(project, tape)
    for loop in LoopRecord.objects.all():
        for tab in TABS:
            url = f"/p/default/sessions/{loop.session_id}/loops/{loop.pk}{tab}"
            assert reader.get(url).status_code == 200, url
    for event in Compaction.objects.exclude(end_event=None).values_list("end_event", flat=True):
        assert reader.get(f"/p/default/events/{event}/compaction", follow=True).status_code == 200, event
    for url in PAGES:
        assert reader.get(f"/p/default/{url}").status_code == 200, url
    for url in (
        "sessions",
        "loops",
        "groups",
        "compactions",
        "approvals",
        "usage?group_by=config",
        "configs",
    ):
        assert reader.get(f"/api/v1/{url}").status_code == 200, url


def test_a_member_pins_and_unpins_a_session(reader, project):
    pruned(project, "01-tools-two-prompts", days=3)
    session = Session.objects.get()
    url = f"/p/default/sessions/{session.pk}"

    assert reader.post(f"{url}/pin", {"pinned": "1"})["Location"] == url
    assert (Pin.objects.get().session_id, Pin.objects.get().pinned_by) == (session.session_id, "reader")
    page = text(reader.get(url))
    assert "Pinned" in page
    assert "Unpin" in page
    reader.post(f"{url}/pin", {"pinned": ""})
    assert not Pin.objects.exists()
    assert "Unpin" not in text(reader.get(url))


def test_a_viewer_cannot_pin_a_session(client, project):
    pruned(project, "01-tools-two-prompts", days=3)
    url = f"/p/default/sessions/{Session.objects.get().pk}"
    for role, status in (("viewer", 403), (None, 404)):
        user = User.objects.create_user(f"one-{role}", password=None)
        if role:
            Membership.objects.create(project=project, user=user, role=role)
        client.force_login(user)
        assert client.post(f"{url}/pin", {"pinned": "1"}).status_code == status
    assert not Pin.objects.exists()
    other = Project.objects.create(slug="other")
    Membership.objects.create(project=other, user=user, role="admin")
    assert (
        client.post(f"/p/other/sessions/{Session.objects.get().pk}/pin", {"pinned": "1"}).status_code == 404
    )
