"""The table of what addresses of list pages hold agrees with the pages."""

from dataclasses import fields

import pytest

from dashboard.pages.attention import params as attention
from dashboard.pages.compactions import params as compactions
from dashboard.pages.costs import params as costs
from dashboard.pages.evaluations import list_params as evaluations
from dashboard.pages.leaderboard import params as leaderboard
from dashboard.pages.search_text import params as search
from dashboard.pages.sessions import old_parameters
from dashboard.pages.sessions import params as sessions
from dashboard.shared.queries.session_filter import METADATA
from dashboard.web.lists import pages
from dashboard.web.lists.pages import EVERY, PAGES
from recorder.models import SavedView

MODULES = {
    "sessions": (sessions, sessions.Filters),
    "search": (search, search.SearchParams),
    "attention": (attention, attention.AttentionParams),
    "evaluations": (evaluations, evaluations.Filters),
    "leaderboard": (leaderboard, leaderboard.LeaderboardParams),
    "costs": (costs, costs.CostsParams),
    "compactions": (compactions, compactions.Filters),
}
NO_PARAMETERS = {"saved", "reader"}  # fields that are not in an address by their names


@pytest.mark.parametrize("page", SavedView.Page.values)
def test_a_page_has_the_parameters_orders_and_columns_of_the_table(page):
    module, address = MODULES[page]
    names = {field.name for field in fields(address) if field.compare} - NO_PARAMETERS
    if page == "sessions":
        names |= {*old_parameters.NAMES, *old_parameters.LEAST}
    if hasattr(module, "MENUS"):
        names |= {key.param for key in module.MENUS.keys}
    assert PAGES[page].parameters == names - EVERY
    sorts = getattr(module, "SORTS", {}) if "sort" in {field.name for field in fields(address)} else {}
    assert sorted(PAGES[page].sorts) == sorted(sorts)
    columns = module.COLUMNS.by_name if hasattr(module, "COLUMNS") else {}
    assert sorted(PAGES[page].columns) == sorted(columns)


def test_parameters_of_metadata_begin_as_those_of_the_list_of_sessions():
    assert pages.METADATA == METADATA
