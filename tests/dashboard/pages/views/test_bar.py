"""The bar of saved views: opening, editing, the same rows for everybody, and addresses that are enough."""

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.shared.saved_views.bar import COUNTED_MAX
from tests.dashboard.pages.views.conftest import actions, rows, tabs
from tests.support import build
from tests.support.small_loop import Loop


@pytest.fixture
def recorded(feed):
    for n in range(3):
        feed(*Loop(f"s{n}").whole(f"task {n}"))
    feed(build.agent_start("open.a.1", agent_id="other"))


def test_a_saved_view_opens_with_its_query_order_and_columns(person, recorded):
    ada = person("ada")
    url = ada.save("Coders", "agent=coder", sort="created", columns="cost,loops")
    page = ada.see(url)

    assert (
        url
        == f"/p/default/sessions?agent=coder&sort=created&cols=cost%2Cloops&q=&view={ada.view('Coders').pk}"
    )
    assert len(rows(page)) == 3
    assert tabs(page) == ["Coders"]
    assert actions(page) == []
    assert 'aria-current="page"' in page.split("Saved views")[1].split("Coders")[0]


def test_an_edited_view_says_so_and_can_be_saved_saved_as_or_reset(person, recorded):
    ada = person("ada")
    url = ada.save("Coders", "agent=coder")
    edited = ada.see(url + "&outcome=completed")

    assert actions(edited) == ["Edited", "Save as", "Reset", ">Save<"]
    assert 'role="img" aria-label="edited"' in edited
    assert f'href="{url}">Reset' in edited
    view = ada.view("Coders")
    saved = ada.post(f"views/{view.pk}/content", page="sessions", query="agent=coder&outcome=completed")
    assert saved == url.replace("&q=", "&outcome=completed&q=")
    assert actions(ada.see(saved)) == []


def test_the_order_of_parameters_and_the_position_in_the_list_are_no_edit(person, recorded):
    ada = person("ada")
    url = ada.save("Two", "outcome=completed&agent=coder")
    pk = ada.view("Two").pk

    assert "Edited" not in actions(ada.see(url))
    assert "Edited" not in actions(
        ada.see(f"sessions?view={pk}&agent=coder&q=&outcome=completed&sort=-activity&before=1-1")
    )
    for more in ("&sort=cost", "&cols=cost", "&q=task", "&view=failed&view="):
        assert "Edited" in actions(ada.see(f"sessions?agent=coder&outcome=completed{more}&view={pk}"))


def test_links_and_forms_of_a_page_stay_in_the_view(person, recorded):
    ada = person("ada")
    url = ada.save("Coders", "agent=coder")
    pk = ada.view("Coders").pk
    page = ada.see(url)

    assert f"?q=agent%3Acoder&since=24h&view={pk}" in page
    assert f'<input type="hidden" name="view" value="{pk}">' in page
    assert len(rows(ada.see(f"sessions?q=&view={pk}"))) == 4


def test_two_people_see_the_same_rows_in_a_view_of_the_project(person, recorded):
    ada, bo = person("ada", "admin"), person("bo", "viewer")
    url = ada.save("Coders", "agent=coder", visibility="project")

    assert rows(bo.see(url)) == rows(ada.see(url))
    assert len(rows(bo.see(url))) == 3
    assert tabs(bo.see("sessions")) == ["Coders"]
    assert actions(bo.see(url + "&outcome=completed")) == ["Edited", "Reset"]  # a viewer


def test_who_may_not_edit_a_view_can_save_a_copy_or_reset_it(person, recorded):
    url = person("ada", "admin").save("Coders", "agent=coder", visibility="project")
    assert actions(person("bo").see(url + "&outcome=completed")) == ["Edited", "Save as", "Reset"]


def test_an_address_is_enough_for_who_does_not_see_the_view(person, recorded):
    ada, bo = person("ada"), person("bo", "admin")
    url = ada.save("Coders", "agent=coder")
    page = bo.see(url)

    assert rows(page) == rows(ada.see(url))
    assert tabs(page) == []
    assert "The address keeps its filters." in page
    assert "The address keeps its filters." in bo.see(url.replace("view=", "view=99"))


def test_the_key_or_the_name_of_a_view_alone_leads_to_its_address(person, recorded):
    ada, bo = person("ada"), person("bo")
    url = ada.save("Uploads denied", "agent=coder")
    pk = ada.view("Uploads denied").pk

    assert ada.see(f"sessions?view={pk}", 302) == url
    assert ada.see("sessions?view=uploads-denied", 302) == url
    edited = ada.see("sessions?agent=other&view=uploads-denied", 302)
    assert edited == f"/p/default/sessions?agent=other&view={pk}&q="
    assert actions(ada.see(edited))[0] == "Edited"
    assert "Ignored view “uploads-denied”" in bo.see("sessions?view=uploads-denied")
    assert "The address keeps its filters." in bo.see(f"sessions?view={pk}")


def test_the_tabs_of_the_list_keep_their_names(person, recorded):
    ada = person("ada")
    ada.save("running", "agent=coder")

    assert len(rows(ada.see("sessions?view=running"))) == 1
    url = ada.save("Running others", "view=running&agent=other")
    assert url.startswith("/p/default/sessions?view=running&view=")
    assert len(rows(ada.see(url))) == 1
    assert "Edited" not in actions(ada.see(url))


@pytest.mark.parametrize(
    ("page", "path", "query"),
    [
        ("evaluations", "evaluations", "verdict=judged"),
        ("costs", "costs", "by=agent&since=7d"),
        ("compactions", "compactions", "agent=coder"),
        ("attention", "attention", "agent=coder"),
        ("search", "search", "q=task"),
        ("leaderboard", "leaderboard", "task=a"),
    ],
)
def test_every_list_page_has_views(person, recorded, page, path, query):
    ada = person("ada")
    url = ada.save("Mine", query, page=page)
    pk = ada.view("Mine").pk

    assert url.startswith(f"/p/default/{path}?{query}")
    html = ada.see(url)
    assert tabs(html) == ["Mine"]
    assert actions(html) == []
    assert actions(ada.see(f"{path}?q=&view={pk}")) == ["Edited", "Save as", "Reset", ">Save<"]
    assert ada.see(f"{path}?view=mine", 302) == url
    assert tabs(ada.see("sessions")) == []


def test_a_view_whose_conditions_are_indexed_has_a_count(person, recorded):
    ada = person("ada")
    ada.save("Today", "since=24h", sort="-cost")
    ada.save("Coders", "agent=coder")
    page = ada.see("sessions").split("Saved views")[1]

    assert '<span class="count number">' in page.split("Today")[1].split("</a>")[0]
    assert "count number" not in page.split("Coders")[1].split("</a>")[0]


def test_the_number_of_queries_is_bounded_however_many_views_there_are(person, recorded):
    ada = person("ada", "admin")

    def queries():
        cache.clear()
        with CaptureQueriesContext(connection) as captured:
            ada.see("sessions")
        return len(captured)

    before = queries()
    for n in range(COUNTED_MAX):
        ada.save(f"view {n}", "since=24h", sort=("-cost", "cost")[n % 2], visibility=("me", "project")[n % 2])
    counted = queries()
    for n in range(40):
        ada.save(f"more {n}", "since=24h")
    assert before < counted == queries() <= before + 3 * COUNTED_MAX


def test_text_of_a_name_is_escaped(person, recorded):
    ada = person("ada")
    ada.save("<b>x</b>", "agent=coder")
    assert b"<b>x</b>" not in ada.client.get("/p/default/sessions").content
