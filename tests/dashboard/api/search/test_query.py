"""`q=` of the lists of the read API."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorder.models import Project
from tests.support import build
from tests.support.small_loop import Loop

LISTS = ("sessions", "loops", "groups", "tool-calls", "compactions", "approvals", "configs", "usage")


@pytest.fixture
def recorded(feed):
    feed(*build.handed_over())
    feed(scenario="03-parallel-judge")
    waits = Loop("waits")
    feed(waits.start(), waits.turn(), waits.tool("t", "edit"), waits.approval("t", "rm"))


@pytest.mark.usefixtures("recorded")
def test_a_query_filters_each_list_by_its_own_records(get):
    assert [item["session_id"] for item in get("sessions", q="tool:edit")["items"]] == ["waits"]
    assert get("sessions", q="tool:edit")["total"] == 1
    assert {item["role"] for item in get("loops", q="role:judge")["items"]} == {"judge"}
    assert get("groups", q="loops:>1")["total"] == 1
    assert get("groups", q="-loops:>1")["total"] == 0
    assert [item["tool_name"] for item in get("tool-calls", q="tool:edit")["items"]] == ["edit"]
    assert get("tool-calls", q="session:waits")["total"] == 1
    assert get("configs", q="loops:>1")["total"] == get("configs")["total"] > 0
    assert get("configs", q="-loops:>1")["total"] == get("configs", q="id:a*")["total"] == 0
    assert get("usage", q="loops:>1")["total"] == 4
    assert get("usage", q="-loops:>1")["total"] == get("usage", q="role:judge")["total"] + 1 == 2
    assert get("approvals", q="session:waits")["total"] == 1
    assert get("approvals", q="-session:waits")["total"] == 0
    assert get("compactions", q="session:waits")["total"] == 0


@pytest.mark.usefixtures("recorded")
def test_a_query_narrows_the_other_parameters(get):
    assert get("sessions", q="tool:edit", agent="expert")["total"] == 0
    assert get("sessions", q="agent:expert", agent="expert")["total"] == 1


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("name", LISTS)
def test_a_bad_query_is_400_with_its_position(admin_client, name):
    response = admin_client.get(f"/api/v1/{name}", {"q": "status:failed costs:>1"})
    assert response.status_code == 400
    assert response.json() == {
        "code": "bad_query",
        "at": 14,
        "message": "Unknown key “costs” at character 15. Did you mean cost?",
    }
    assert admin_client.get(f"/api/v1/{name}", {"q": "x" * 2_001}).json()["at"] == 2_000
    assert admin_client.get(f"/api/v1/{name}", {"q": "a\0"}).json()["at"] == 1


@pytest.mark.usefixtures("recorded")
def test_a_query_finds_nothing_of_another_project(admin_client):
    Project.objects.create(slug="other")
    for name in LISTS:
        found = admin_client.get(f"/api/v1/{name}", {"project": "other", "q": "turns:>=0"})
        assert found.json()["total"] == 0


SIGNS = ["-", "!", "(", ")", '"', "]", "*", "%", "_", "\\", "\0", " ", ","]
PARTS = [
    "status:",
    "cost:>",
    "tool:[",
    "a",
    "1",
    "OR",
    "NOT",
    "has:note",
    "is:mine",
    "score.x:",
    "since:7d",
    *SIGNS,
]


@pytest.mark.usefixtures("recorded")
def test_no_query_is_an_error_500(admin_client):
    @settings(max_examples=150)
    @given(
        st.lists(st.sampled_from(PARTS) | st.text(max_size=2), max_size=12).map("".join),
        st.sampled_from(LISTS),
    )
    def ask(text, name):
        assert admin_client.get(f"/api/v1/{name}", {"q": text}).status_code in (200, 400)

    ask()
