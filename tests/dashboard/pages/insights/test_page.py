"""The insights page: figures, evidence, filters, pages, dismissal, roles."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recorder.ingest.commit.pipeline import Batch, ingest
from recorder.insights.consolidate import consolidate
from recorder.models import DailyJob, EventRecord, Insight, InsightEvidence, LoopRecord, Project
from recorder.operations import scheduler
from tests.recorder.insights.fixtures import working
from tests.recorder.insights.llm_server import saying, talk, true
from tests.recorder.insights.projects import quiet

CAGENT = Path("tests/tapes/cagent/transfer-task.reconstructed.events.jsonl")
HOSTILE = '"><img src=x onerror=alert(1)>'
QUERIES = 19


def rows(html):
    return re.findall(r'id="insight-(\d+)"', html)


def words(html):
    """Return the text without markup."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_an_empty_project_shows_when_the_analysis_runs(see, person):
    page = words(see())

    assert "No insights yet." in page
    assert "Analysis runs every day at 03:00 UTC." in page
    assert "An admin can run it now." in page
    assert "Run now" not in page
    assert "Run now" in words(person("admin").get("/p/default/insights").content.decode())


def test_each_insight_has_its_figures_and_its_evidence(see, insights):
    page = see()

    procedure, solution = see("?kind=procedure"), see("?kind=solution")
    assert "read test edit" in words(procedure)
    assert "3 times 100% worked" in words(solution)
    assert "E ValueError: bad line 1" in words(solution)
    assert "Solved by: edit again" in words(solution)
    assert "Error solution of coder , 3 loops" in words(solution)
    for loop in LoopRecord.objects.all():
        assert f'href="/p/default/sessions/{loop.session_id}/loops/{loop.pk}">{loop.session.title}<' in page


def test_evidence_links_to_its_events(see, insights):
    page = see("?kind=solution")

    links = re.findall(r'<a class="link nowrap" href="(/p/default/events/\d+)">(the error|retry)</a>', page)
    assert [word for _, word in links] == ["the error", "retry"] * 3
    for href, _ in links:
        assert see.browser.get(href).status_code in (200, 302)


def test_evidence_from_another_runtime_links_to_its_event(see, project):
    lines = CAGENT.read_bytes().splitlines()
    ingest(Batch(project.pk, "cagent", None, lines, "cagent", flush=True))
    consolidate(project, quiet)

    events = {event for each in InsightEvidence.objects.all() for event in each.events}
    assert len(events) > 3
    for event in events:
        answer = see.browser.get(f"/p/default/events/{event}", follow=True)
        assert (answer.status_code, f'id="event-{event}"' in answer.content.decode()) == (200, True)


def test_rare_or_unsuccessful_steps_are_not_shown(see, learn):
    learn(working("s.a.1", "read a", "test!", "edit a", "test!"))

    assert rows(see()) == []
    assert Insight.objects.exists()


def test_insights_are_filtered_by_kind_and_agent(see, insights, learn):
    learn(*(working(f"o{n}.b.1", "search", "note", agent="writer") for n in range(3)))

    assert len(rows(see("?agent=writer"))) == 1
    assert len(rows(see("?agent=writer&kind=procedure"))) == 1
    assert "No matching insights." in see("?agent=writer&kind=solution")
    assert "No matching insights." in see("?agent=nobody")
    assert 'name="agent" value="writer" checked' in see("?agent=writer")
    assert len(rows(see("?kind=nonsense&before=c5-5&undo=x&agent="))) == len(rows(see()))


@pytest.mark.parametrize(
    "query", ["", "?agent=writer", "?kind=procedure", "?kind=solution", "?kind=procedure&agent=writer"]
)
def test_the_number_of_insights_is_that_of_the_rows(see, insights, learn, query):
    learn(*(working(f"o{n}.b.1", "search", "note", agent="writer") for n in range(3)))
    page = see(query)
    shown = len(rows(page))
    assert shown
    assert f"1 to {shown} of {shown} insight" in words(page)


def test_an_empty_list_of_facts_explains_the_configuration(see, settings):
    assert "Fact extraction is not configured." in see("?kind=fact")

    settings.LOOPSCOPE_FACTS_URL, settings.LOOPSCOPE_FACTS_MODEL = "http://127.0.0.1:1/v1", "small"
    assert "No matching insights." in see("?kind=fact")


def test_a_fact_is_shown_with_the_events_it_cites(see, learn, speaker):
    speaker.answers = [saying(true)]
    learn(talk("s.a.1"))

    page = see("?kind=fact")

    assert "The project uses uv." in page
    (event,) = re.findall(r'href="/p/default/events/(\d+)">event 1<', page)
    assert EventRecord.objects.get(pk=event).type == "MessageEnd"
    assert "100%" not in page


def test_insights_are_paginated_newest_first(see, learn):
    at = datetime(2026, 1, 1, tzinfo=UTC)
    learn(*(working(f"s{n}.a.1", f"one{n // 3}", f"two{n // 3}") for n in range(3 * 52)))
    shown = Insight.objects.filter(times__gte=3).order_by("pk")
    for n, row in enumerate(shown):
        Insight.objects.filter(pk=row.pk).update(last_at=at + timedelta(hours=n // 2))  # each time twice

    first = see()
    older = re.search(r'href="(\?[^"]*)" rel="next"', first)[1].replace("&amp;", "&")
    second = see(older)
    newer = re.search(r'href="(\?[^"]*)" rel="prev"', second)[1].replace("&amp;", "&")

    wanted = [str(row.pk) for row in Insight.objects.filter(times__gte=3).order_by("-last_at", "-pk")]
    assert len(wanted) == 52
    assert rows(first) == wanted[:50]
    assert rows(second) == wanted[50:]
    assert rows(see(newer)) == wanted[:50]
    assert "52 insights" in words(first)


def test_fifty_rows_take_as_many_queries_as_one(see, learn, django_assert_num_queries):
    learn(*(working(f"s{n}.a.1", "one", "two") for n in range(3)))
    see()
    with CaptureQueriesContext(
        connection,
    ) as captured:
        see()
    learn(*(working(f"t{n}.a.1", f"one{n // 3}", f"two{n // 3}") for n in range(3 * 49)))

    with django_assert_num_queries(len(captured)):
        assert len(rows(see())) == 50
    assert len(captured) <= QUERIES


def test_a_dismissed_insight_can_be_restored(see, insights):
    (pk,) = rows(see("?kind=solution"))
    answer = see.browser.post(f"/p/default/insights/{pk}/dismiss", {"kind": "solution"})

    assert answer["Location"] == f"/p/default/insights?kind=solution&undo={pk}"
    page = see(f"?kind=solution&undo={pk}")
    assert rows(page) == []
    assert "Dismissed: error solution edit" in words(page)
    assert f'formaction="/p/default/insights/{pk}/restore"' in page
    assert "by member" in words(see("?dismissed=1"))

    back = see.browser.post(f"/p/default/insights/{pk}/restore", {"kind": "solution", "undo": pk})
    assert back["Location"] == "/p/default/insights?kind=solution"
    assert rows(see("?kind=solution")) == [pk]


def test_a_dismissed_insight_stays_dismissed_and_keeps_counting(see, insights, learn):
    (pk,) = rows(see("?kind=solution"))
    see.browser.post(f"/p/default/insights/{pk}/dismiss")

    learn(working("later.a.1", "read a", "test!", "edit a", "test"))

    assert rows(see("?kind=solution")) == []
    assert Insight.objects.get(pk=pk).times == 4


@pytest.mark.parametrize(
    ("role", "dismiss", "read"),
    [("", 404, 404), ("viewer", 403, 403), ("member", 302, 403), ("admin", 302, 302)],
)
def test_roles_limit_who_dismisses_and_who_runs_the_analysis(project, insights, person, role, dismiss, read):
    browser = person(role)
    pk = Insight.objects.filter(kind="solution").get().pk

    assert browser.post(f"/p/default/insights/{pk}/dismiss").status_code == dismiss
    assert browser.post(f"/p/default/insights/{pk}/restore").status_code == dismiss
    assert browser.post("/p/default/insights/consolidate").status_code == read
    assert browser.get("/p/default/insights").status_code == (404 if role == "" else 200)
    assert browser.get(f"/p/default/insights/{pk}/dismiss").status_code == 405


def test_an_insight_of_another_project_is_not_found(see, learn, insights):
    other = Project.objects.create(slug="other")
    learn(*(working(f"x{n}.a.1", "secret", "thing", title="A secret") for n in range(3)), into=other)
    foreign = Insight.objects.filter(project=other).get()

    assert see.browser.post(f"/p/default/insights/{foreign.pk}/dismiss").status_code == 404
    assert "secret" not in see() + see(f"?undo={foreign.pk}") + see(f"?undo={foreign.pk}&dismissed=1")


def test_an_admin_runs_the_analysis_now(project, person):
    browser = person("admin")

    assert browser.post("/p/default/insights/consolidate")["Location"] == "/p/default/insights"

    assert "Analysis starts within a minute." in browser.get("/p/default/insights").content.decode()
    assert scheduler.acquire(scheduler.CONSOLIDATE, datetime.now(UTC), "a")
    assert "Analysis is running" in browser.get("/p/default/insights").content.decode()
    scheduler.finish(scheduler.CONSOLIDATE, datetime.now(UTC), "a", is_done=False, output="<b>a path</b>")
    failed = browser.get("/p/default/insights").content.decode()
    assert "The last analysis failed" in failed
    assert "a path" not in failed
    DailyJob.objects.update(try_at=None)
    assert scheduler.acquire(scheduler.CONSOLIDATE, datetime.now(UTC), "a")
    scheduler.finish(scheduler.CONSOLIDATE, datetime.now(UTC), "a", is_done=True, output="")
    assert "Last analysis" in browser.get("/p/default/insights").content.decode()


def test_hostile_names_are_text(see, learn):
    learn(
        *(
            working(f"s{n}.a.1", f"{HOSTILE} a", "test", agent=HOSTILE, title=f"{HOSTILE} {n}")
            for n in range(3)
        )
    )

    page = see()

    assert len(rows(page)) == 1
    assert "<img" not in page
    assert page.count("&lt;img") > 5


def test_evidence_of_a_deleted_loop_is_labelled(see, insights):
    LoopRecord.objects.all().delete()

    page = see("?kind=solution")

    assert "a deleted loop" in page
    assert "the error" not in page
