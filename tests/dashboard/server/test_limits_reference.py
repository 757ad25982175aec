"""Every route has its row in docs/reference/limits.md, and every row its measured cost."""

import re

import pytest
from django.urls import get_resolver

from bench.limits.__main__ import ATTACKS
from dashboard.routing import http_urlpatterns, websocket_urlpatterns
from tests.support.server import ROOT

LIMITS = (ROOT / "docs/reference/limits.md").read_text()
CONVERTER = re.compile(r"<[^>]*>")
# What is looked at of the spans of a trace: constants of the planner, and their words in the row of spans.
PLANNER = ROOT / "recorder/core/formats/otlp"
LOOKED_AT = {
    "AROUND_MAX": "calls of one moment with equal figures",
    "CHILDREN_MAX": "calls that started one kind of sub-agent before another",
    "DEPTH_MAX": "spans above one for the root of its trace",
    "EVALUATIONS_MAX": "evaluations of one span",
    "HANDING_MAX": "loops of a trace that hand over",
    "NEAR_MAX": "texts of a session before",
    "NOTES_MAX": "log records of one tool call",
    "OPEN_MAX": "open calls of one id",
    "SAME_MAX": "calls with one id of the response at one time",
    "SOURCES_MAX": "lines with its answer",
    "SPANS_MAX": "spans are read",
}
# Patterns that match whatever no other matches: the rows of their parts include them.
CATCH_ALL = {
    "(?s)^api/v1/.",
    r"^opentelemetry\.proto\.collector\.",  # every call by gRPC gets the same short answer
    "^(?:ingest|api|otlp|v1)(?:/|\\Z)",
    "",
    "api/v1/<path:rest>",
    "api/v1/",
}


def table(heading):
    """Return the cells of the rows of the first table below a heading."""
    lines = LIMITS.partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return rows[2:]


BOUNDS, COSTS = table("Bounds"), table("Costs")
PLACES = {place for row in BOUNDS for place in re.findall(r"`(?:[A-Z]+ )?(/[^`?]*)[^`]*`", row[0])}
BELOW = ("/p/…/…", "/static/…", "/s/…", "/account/security/…")
MEASURED = [name for row in BOUNDS for name in row[-1].split(", ")]


def walked(patterns, before=""):
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from walked(pattern.url_patterns, route)
        else:
            yield route


def routes():
    asgi = [str(route.pattern) for route in (*http_urlpatterns, *websocket_urlpatterns)]
    found = [*walked(get_resolver().url_patterns), *asgi, "static/<path:path>"]
    return sorted({f"/{CONVERTER.sub('…', route)}" for route in found if route not in CATCH_ALL} | {"/"})


def has_row(route):
    """Return whether a row names the route; "…" at the end of a place in `BELOW` matches all below it."""
    return (
        route in PLACES
        or route.removesuffix("/") in PLACES
        or any(place in PLACES and route.startswith(place.removesuffix("…")) for place in BELOW)
    )


@pytest.mark.parametrize("route", routes())
def test_every_route_has_a_row(route):
    assert has_row(route), f"docs/reference/limits.md has no row for {route}"


def test_rows_name_no_place_that_is_not_there():
    of_provider = "/signin/oidc"  # a route only where a provider is set
    assert {*routes(), *BELOW, of_provider, "/nothing"} >= PLACES


@pytest.mark.parametrize("row", BOUNDS, ids=lambda row: row[0])
def test_every_row_has_a_measured_cost(row):
    costs = [cost[0] for cost in COSTS]
    names = row[-1].split(", ")
    assert all(any(cost.startswith(name) for cost in costs) for name in names), f"no cost of {names}"


def test_the_table_of_costs_has_every_attack_of_the_benchmark():
    assert [row[0] for row in COSTS] == list(ATTACKS)


@pytest.mark.parametrize("cost", COSTS, ids=lambda cost: cost[0])
def test_every_cost_belongs_to_a_row(cost):
    assert any(cost[0].startswith(name) for name in MEASURED)


def test_every_bound_of_the_planner_is_named_with_its_number():
    found = re.findall(
        r"^_?([A-Z]+_MAX) = ([0-9_]+)",
        "\n".join(file.read_text() for file in sorted(PLANNER.rglob("*.py"))),
        re.M,
    )

    assert sorted(name for name, _ in found) == sorted(LOOKED_AT)
    for name, number in found:
        assert re.search(rf"\b{int(number):,} {LOOKED_AT[name]}", LIMITS), name
