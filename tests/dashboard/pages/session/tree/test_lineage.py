"""The tree across sessions: kinds of edges, costs with sub-agents, late sub-agents, cycles."""

import re

import pytest

from dashboard.pages.session.tree.queries.rows import rows
from dashboard.pages.session.tree.queries.sub_agents import ancestors, children
from dashboard.pages.session.tree.queries.tree import Trees
from recorder.models import LoopRecord, Session
from tests.dashboard.open_page import in_thread
from tests.support import build

CONFIG = {"model": "claude-sonnet-4-6", "provider": "anthropic", "api": "anthropic_messages"}


def loop(name, tokens, *, calls=(), parent=None, kind="Initial", is_open=False):
    """Return a loop that spent tokens and called sub-agents."""
    yield build.agent_start(name, parent=parent, kind=kind, config_snapshot=CONFIG)
    yield build.turn_start(name)
    for n, child in enumerate(calls):
        yield build.tool_start(name, call=f"{name}-{n}", name="delegate")
        yield build.tool_end(name, call=f"{name}-{n}", name="delegate", child=child)
    yield build.turn_end(name, tokens=tokens)
    if not is_open:
        yield build.agent_end(name, tokens=tokens)


def family(*, is_late=False):
    """Return a session with every kind of continuation, and three levels of sub-agents."""
    yield from loop("s.a.1", 100_000, calls=["t.a.1"])
    yield from loop("s.a.2", 200_000, parent="s.a.1", kind="Default")
    yield from loop("s.a.3", 300_000, parent="s.a.2", kind={"Rerun": {"tag": "again"}})
    yield from loop("s.a.4", 400_000, parent="s.a.2", kind={"Branch": {"tag": "t"}})
    yield from loop("s.a.5", 500_000, parent="s.a.3", kind="Compaction")
    yield from loop("t.a.1", 10_000, calls=["u.a.1"])
    yield from loop("t.a.2", 20_000, parent="t.a.1", kind="Default")
    yield from loop("u.a.1", 1_000, calls=["v.a.1"])
    if not is_late:
        yield from last()


def last():
    yield from loop("v.a.1", 7_000)


def pk(name):
    return Session.objects.get(session_id=name).pk


def test_the_tree_shows_every_kind_of_edge_and_sub_agents_of_all_levels(feed, see):
    feed(*family())

    page = see(f"/p/default/sessions/{pk('s')}")

    kinds = [row.split(",")[0] for row in page.rows]
    assert kinds == ["Initial", "Continue", "Branch", "Rerun", "Compaction"]
    steps = Trees(0)([pk("s")])[pk("s")].steps
    levels = [(s.child.session_id, s.node.depth) for s in steps if s.child and s.what == "open"]
    assert levels == [("t", 2), ("u", 3), ("v", 4)]
    assert "Loops 5, and 3 sub-agents" in page.part("loops")


@pytest.mark.parametrize("name", ["s", "t", "u", "v"])
def test_every_session_links_its_ancestors_and_sub_agents(feed, see, name):
    feed(*family())
    chain = ["s", "t", "u", "v"]
    at = chain.index(name)

    page = see(f"/p/default/sessions/{pk(name)}")

    for other in chain:
        linked = any(f"/sessions/{pk(other)}/loops/" in href for href in page.links)
        assert linked, f"{name} does not lead to {other}"
    assert [int(re.search(r"sessions/(\d+)", each.url)[1]) for each in ancestors(pk(name))] == list(
        map(pk, chain[:at])
    )


def test_the_cost_with_sub_agents_is_the_sum_over_all_loops(feed):
    feed(*family())
    own = dict(LoopRecord.objects.values_list("loop_id", "cost_nano"))
    below = {"v": {"v.a.1"}}
    below["u"] = below["v"] | {"u.a.1"}
    below["t"] = below["u"] | {"t.a.1", "t.a.2"}

    caller = LoopRecord.objects.get(loop_id="s.a.1")
    assert rows([caller.pk])[caller.pk].whole.cost_nano == sum(own[each] for each in below["t"] | {"s.a.1"})
    other = LoopRecord.objects.get(loop_id="s.a.2")
    assert rows([other.pk])[other.pk].whole is None
    found = children(pk("s"))
    shown = {row.session_id: row for row in found.rows(found.links).values()}
    for name in "tuv":
        own_cost = sum(cost for each, cost in own.items() if each.startswith(name))
        assert shown[name].own_cost.cost_nano == own_cost
        whole = shown[name].whole.cost_nano if shown[name].whole else own_cost
        assert whole == sum(own[each] for each in below[name])


def test_the_state_of_a_sub_agent_is_current(feed, see):
    feed(*loop("s.a.1", 1, calls=["t.a.1"]), *loop("t.a.1", 1))
    assert "Completed" in children_of(see)

    feed(*loop("t.a.2", 1, parent="t.a.1", kind="Default", is_open=True))

    assert "Running" in children_of(see)


def children_of(see):
    page = see(f"/p/default/sessions/{pk('s')}")
    row = next(e for e in page.root.walk() if "tree-child" in e.attributes.get("class", ""))
    return row.html()


def test_cycles_of_sub_agents_end(feed, see):
    feed(
        *loop("s.a.1", 1, calls=["t.a.1", "s.a.1"]),
        *loop("t.a.1", 1, calls=["u.a.1", "t.a.1"]),
        *loop("u.a.1", 1, calls=["s.a.1", "t.a.1"]),
    )

    for name in "stu":
        page = see(f"/p/default/sessions/{pk(name)}")
        assert page.html.count('class="tree-row tree-child"') < 8
        assert len(page.rows) == 1


def spoken(element):
    """Return the text of an element that is not hidden from screen readers."""
    if element.attributes.get("aria-hidden") == "true":
        return ""
    return "".join(each if isinstance(each, str) else spoken(each) for each in element.children)


def test_a_row_has_a_text_for_screen_readers(feed, see):
    feed(
        *loop("s.a.1", 100_000),
        build.agent_start("s.a.2", parent="s.a.1", kind={"Rerun": {"tag": "again"}}, config_snapshot=CONFIG),
        build.turn_start("s.a.2"),
        build.message_end("s.a.2", message=build.user("Add a retry queue with backoff")),
        build.tool_start("s.a.2"),
        build.tool_end("s.a.2", is_error=True),
        build.turn_end("s.a.2", tokens=116_000),
        build.turn_start("s.a.2", index=1),
        build.turn_end("s.a.2", tokens=116_000),
        build.agent_end("s.a.2", tokens=232_000),
    )

    page = see(f"/p/default/sessions/{pk('s')}")

    items = [e for e in page.root.walk() if e.attributes.get("role") == "treeitem"]
    names = [" ".join(spoken(item).split()).replace(" ,", ",") for item in items]
    assert names[1] == "Rerun, Add a retry queue with backoff, completed, 1 failed tool, 69.6 cents"


async def test_a_sub_agent_recorded_late_completes_its_link_in_an_open_page(place, open_page):
    await in_thread(lambda: place.feed(*family(is_late=True)))
    pages = [
        await open_page(f"/p/{place.project.slug}/sessions/{await in_thread(pk, name)}") for name in "sut"
    ]
    assert all("Not recorded" in page.shown.root.html() for page in pages)

    await in_thread(lambda: place.feed(*last()))

    for page in pages:
        await page.agree()
        assert "Not recorded" not in page.shown.root.html()


async def test_the_cost_of_a_sub_agent_updates_its_ancestors_in_an_open_page(place, open_page):
    await in_thread(lambda: place.feed(*family()))
    page = await open_page(f"/p/{place.project.slug}/sessions/{await in_thread(pk, 's')}")

    await in_thread(lambda: place.feed(*loop("v.a.2", 900_000, parent="v.a.1", kind="Default")))

    await page.agree()
