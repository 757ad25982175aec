"""Columns of lists: chosen in the address, in their order; unknown names become notes."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User

from dashboard.live.paged_list import row_panel
from dashboard.pages.compactions.list_live import COMPACTIONS
from dashboard.pages.evaluations.list_live import EVALUATIONS
from dashboard.pages.sessions.live import SESSIONS
from recorder.models import Compaction, Membership, ParallelGroupRecord, Project, Session
from tests.dashboard.pages.leaderboard.expected_standings import evaluation
from tests.dashboard.pages.sessions.conftest import feed  # noqa: F401  a fixture
from tests.support import build

LISTS = {
    "sessions": (SESSIONS, Session),
    "evaluations": (EVALUATIONS, ParallelGroupRecord),
    "compactions": (COMPACTIONS, Compaction),
}
pytestmark = pytest.mark.parametrize("name", LISTS)


@pytest.fixture
def project(db):
    return Project.objects.create(slug="default")


@pytest.fixture
def see(client, project, feed):  # noqa: F811  the fixture
    user = User.objects.create_user("reader")
    project.memberships.create(user=user, role=Membership.Role.VIEWER)
    client.force_login(user)
    feed(*evaluation(0, "ABCD", 0))
    feed(build.agent_start("s.a.1"), build.compaction_started("s.a.1"), build.compaction_ended("s.a.1"))
    return lambda path: unescape(client.get(f"/p/default/{path}").content.decode())


def columns(html, role):
    """Return the names of the columns in the head, or in the first row."""
    first = re.search(rf'role="{"columnheader" if role == "head" else "cell"}".*', html, re.S)[0]
    of_row = first.split('role="row"')[0]
    return re.findall(r'data-column="([-\w]+)"', of_row)


def test_without_a_choice_a_list_has_its_usual_columns(see, name):
    of, _ = LISTS[name]
    page = see(name)

    assert columns(page, "head") == columns(page, "cell") == list(of.columns.usual)
    assert "data-columns" not in page


def test_every_column_can_be_chosen_in_any_order_and_live_rows_follow(see, name, project):
    of, model = LISTS[name]
    cols = tuple(reversed([column.name for column in of.columns.all]))
    page = see(f"{name}?cols={','.join(cols)}")
    pk = model.objects.order_by("-pk").values_list("pk", flat=True).first()

    assert columns(page, "head") == columns(page, "cell") == list(cols)
    assert f"cols={'%2C'.join(cols)}" in re.search(r'ws-connect="([^"]*)"', page)[1]
    (pushed,) = row_panel(of, project.pk, cols).draw([pk]).values()
    assert re.findall(r'data-column="([-\w]+)"', pushed) == list(cols)


def test_columns_of_a_form_are_read_and_unknown_ones_are_named(see, name):
    of, _ = LISTS[name]
    one, two = of.columns.usual[1], of.columns.usual[0]
    page = see(f"{name}?cols={one}&cols={two}&cols=nothing&cols={of.columns.first}")

    assert columns(page, "cell") == [one, two]
    assert "Ignored cols “nothing”: there is no such column." in page
    assert page.count("Ignored cols") == 1


def test_links_move_a_column_and_lead_back_to_the_usual_ones(see, name):
    of, _ = LISTS[name]
    one, two, *others = of.columns.usual
    swapped = "%2C".join((two, one, *others))
    page = see(name)

    assert page.count(f"cols={swapped}#column-") == 2  # one to the right, the other to the left
    moved = see(f"{name}?cols={swapped}")
    assert columns(moved, "cell") == [two, one, *others]
    assert f'href="?#column-{one}"' in moved
    assert see(f"{name}?cols={','.join(of.columns.usual)}").count("data-columns") == 0


def test_a_name_is_escaped_text(see, client, name):
    page = client.get(f"/p/default/{name}?cols=<i>x").content
    assert b"Ignored cols" in page
    assert b"<i>x" not in page
