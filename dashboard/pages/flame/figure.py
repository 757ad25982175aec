"""The flame graph as it is drawn: boxes with their texts and links, rows of the table, the legend. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dashboard.pages.flame.build import WORDS
from dashboard.pages.flame.layout import Box, layout
from dashboard.pages.flame.params import MEASURES, FlameParams, Measure
from dashboard.pages.flame.tree import Amounts, Node, Place, added, leaves, path_to, sliced
from dashboard.rendering.number_format import duration, exact, money, percent, plural
from dashboard.shared.queries.costs import usd

ROW = 26  # pixels
CHARACTER, PADDING = 7, 8  # pixels of a label
SHORTENED = 12  # characters of room from which a label that is too long is cut, with an ellipsis
ROOMS = (("", 340), ("label-medium", 600), ("label-wide", 1_000))  # least widths of a drawing, in pixels
EQUAL = 0.02  # sides that differ by less, as a share of both, are shown as equal
DIFFERENCES = 25  # rows of the table of differences
NAMES = {"cost": "Cost", "tokens": "Tokens", "time": "Time"}
SIDES = {  # class: its sign and its words
    "only-here": ("\N{MINUS SIGN}\N{MINUS SIGN}", "only in this session"),
    "less": ("\N{MINUS SIGN}", "less in the other session"),
    "equal": ("=", "about the same"),
    "more": ("+", "more in the other session"),
    "only-there": ("++", "only in the other session"),
}
LEGEND = {  # class: its words, of the widths in which it can occur
    "loop": ("loop", MEASURES),
    "sub-agent": ("sub-agent", MEASURES),
    "turn": ("turn", MEASURES),
    "fixed": ("system prompt and tool definitions", ("cost", "tokens")),
    "sent": ("messages", ("cost", "tokens")),
    "result": ("tool results and reports", ("cost", "tokens")),
    "output": ("output", ("cost", "tokens")),
    "tool": ("tool", ("time",)),
    "model": ("model", ("time",)),
    "rest": ("undivided, or waiting", MEASURES),
}
CSS = {
    "session": "turn",
    "tool_definition": "fixed",
    "system": "fixed",
    "compaction_summary": "sent",
    "user": "sent",
    "assistant": "sent",
    "thinking": "sent",
    "context": "sent",
    "tool_result": "result",
    "sub_agent_report": "result",
    "undivided": "rest",
    "idle": "rest",
}
UrlOf = Callable[[Place], str]


@dataclass(frozen=True, slots=True)
class Shape:
    """One box: geometry in percent and pixels, its class, texts and link."""

    x: str
    width: str
    y: int
    depth: int
    css: str
    id: str  # of its node; "" for a group
    label: str
    label_css: str  # on which widths of the page there is room for the label
    words: str  # name, exact amounts and share
    about: str  # the words after the name
    url: str
    name: str
    cost: str
    tokens: str
    time: str
    share: str
    difference: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A row of the table of differences."""

    name: str
    path: str
    here: str
    there: str
    difference: str
    css: str


@dataclass(frozen=True, slots=True)
class Figure:
    """The whole drawing, and the nodes above the one that is enlarged, as names and links."""

    shapes: Sequence[Shape]
    height: int
    above: Sequence[tuple[str, str]]
    name: str
    total: str
    legend: Sequence[tuple[str, str, str]]  # class, sign, words
    differences: Sequence[Difference] = ()
    merged: int = 0  # nodes that are drawn in groups


def shown(root: Node, params: FlameParams) -> tuple[Sequence[Node], Node]:
    """Return the path to the node that is enlarged, and the part of it that is drawn."""
    wanted, part = params.part
    path = path_to(root, wanted) if wanted else [root]
    return path, sliced(path[-1], part)


def wide_turns(root: Node, params: FlameParams, *, least: float) -> Sequence[int]:
    """Return the turns that are at least as many percent wide, and the one that is enlarged."""
    path, node = shown(root, params)
    boxes = layout(node, params.by)
    wide = [box.node for box in boxes if box.node is not None and box.width >= least]
    return [pk for each in (*wide, *path) for pk in each.turns]


def figure(root: Node, params: FlameParams, url_of: UrlOf) -> Figure:
    """Return the drawing of a tree."""
    path, node = shown(root, params)
    boxes = layout(node, params.by)
    is_part = node is not path[-1]
    above = [(each.name, params.but(node="" if each is root else each.id)) for each in path]
    measure, is_compared = params.by, params.other is not None
    legend = (
        [(css, sign, words) for css, (sign, words) in SIDES.items()]
        if is_compared
        else [(css, "", words) for css, (words, of) in LEGEND.items() if measure in of]
    )
    return Figure(
        shapes=[_shape(box, node, params, url_of, is_part=is_part) for box in boxes],
        height=ROW * (max((box.depth for box in boxes), default=0) + 1),
        above=above if is_part else above[:-1],
        name=f"{len(node.children):,} parts of {node.name}" if is_part else node.name,
        total=_totals(node, measure, is_compared=is_compared),
        legend=legend,
        differences=_differences(node, measure) if is_compared else (),
        merged=sum(len(box.nodes) for box in boxes if len(box.nodes) > 1),
    )


def amount(amounts: Amounts, measure: Measure) -> str:
    """Format one amount, rounded."""
    if measure == "cost":
        return money(amounts.cost, amounts.unpriced)
    return exact(amounts.tokens) if measure == "tokens" else duration(amounts.time)


def side_of(here: int, there: int) -> str:
    """Return the class of a difference: by how much the other side is more or less."""
    if not there:
        return "only-here" if here else "equal"
    if not here:
        return "only-there"
    if abs(there - here) <= EQUAL * (here + there):
        return "equal"
    return "more" if there > here else "less"


def difference(here: Amounts, there: Amounts, measure: Measure) -> str:
    """Format the other side less this one, with its sign."""
    change = there.of(measure) - here.of(measure)
    sign = "+" if change > 0 else "\N{MINUS SIGN}" if change < 0 else ""
    absolute = Amounts(*([abs(change)] * 3))
    return f"{sign}{amount(absolute, measure)}"


def _shape(box: Box, root: Node, params: FlameParams, url_of: UrlOf, *, is_part: bool) -> Shape:
    measure, is_compared = params.by, params.other is not None
    here, there = added(n.amounts for n in box.nodes), added(n.other for n in box.nodes)
    name = box.node.name if box.node is not None else f"{len(box.nodes):,} more"
    share = percent(box.value / root.value(measure))
    side = side_of(here.of(measure), there.of(measure))
    css = f"difference-{side}" if is_compared else _css(box)
    change = difference(here, there, measure) if is_compared else ""
    about = f": {_exact(here, measure)}, {share}"
    if is_compared:
        about = (
            f": {SIDES[side][1]}, {change}; {_with_unit(here, measure)} here,"
            f" {_with_unit(there, measure)} there, {share} of both"
        )
    sign = f"{SIDES[side][0]} " if is_compared else ""
    label, label_css = label_of(sign + _short_name(box, name), box.width)
    return Shape(
        x=f"{box.x:.4f}",
        width=f"{box.width:.4f}",
        y=box.depth * ROW,
        depth=box.depth,
        css=css,
        id=box.node.id if box.node is not None else "",
        label=label,
        label_css=label_css,
        words=isolated(name) + about,
        about=about,
        url=_url(box, root, params, url_of, is_part=is_part),
        name=name,
        cost=money(here.cost, here.unpriced),
        tokens=exact(here.tokens),
        time=duration(here.time),
        share=share,
        difference=change,
    )


def label_of(text: str, width: float) -> tuple[str, str]:
    """Return a text as it fits into a box of so many percent, and the class of the pages that have the room.

    It is cut between words, so that what is seen is part of the accessible name. Where no page has room for
    a whole word, the text is "".
    """
    for css, pixels in ROOMS:
        room = int((pixels * width / 100 - PADDING) / CHARACTER)
        if len(text) <= room:
            return text, css
        words = text[:room].rpartition(" ")[0].rstrip(" (")
        if room >= SHORTENED and any(map(str.isalnum, words)):
            return f"{words}\N{HORIZONTAL ELLIPSIS}", css
    return "", ""


def isolated(name: str) -> str:
    """Return a name as it is written before figures in text without markup: it does not reorder them."""
    if name.isascii():
        return name
    return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"


def _short_name(box: Box, name: str) -> str:
    """Return the name without the kind of a block, which the colour says too."""
    words = WORDS.get(box.node.kind, "") if box.node is not None else ""
    return name.removeprefix(words).strip() or name


def _css(box: Box) -> str:
    kind = box.node.kind if box.node is not None else "more"
    return f"flame-{CSS.get(kind, kind)}"


def _url(box: Box, root: Node, params: FlameParams, url_of: UrlOf, *, is_part: bool) -> str:
    """Return the link of a box: it is enlarged; one without parts leads to its turn."""
    if box.node is None:
        parent = box.parent or root
        # The drawn part of a node counts its children from its own first one.
        start = (params.part[1].start or 0) if parent is root and is_part else 0
        return params.but(node=f"{parent.id}.{start + box.first}-{start + box.last}")
    if box.node.children or box.node.turns or box.node.place is None:
        return params.but(node=box.node.id)
    return url_of(box.node.place)


def _exact(amounts: Amounts, measure: Measure) -> str:
    parts = {
        "cost": "no price" if not amounts.cost and amounts.unpriced else f"${usd(amounts.cost)}",
        "tokens": f"{amounts.tokens:,} tokens",
        "time": duration(amounts.time),
    }
    if amounts.unpriced and amounts.cost:
        parts["cost"] += f" and {amounts.unpriced:,} without a price"
    known: Mapping[str, bool] = {
        "cost": bool(amounts.cost or amounts.unpriced),
        "tokens": bool(amounts.tokens),
        "time": bool(amounts.time),
    }
    return ", ".join(parts[name] for name in MEASURES if name == measure or known[name])


def _totals(node: Node, measure: Measure, *, is_compared: bool) -> str:
    here = _with_unit(node.amounts, measure)
    return f"{here} here, {_with_unit(node.other, measure)} there" if is_compared else here


def _with_unit(amounts: Amounts, measure: Measure) -> str:
    return plural(amounts.tokens, "token") if measure == "tokens" else amount(amounts, measure)


def _differences(node: Node, measure: Measure) -> Sequence[Difference]:
    """Return the parts without parts of their own that differ most, the largest difference first."""
    found = [path for path in leaves(node) if path[-1].amounts.of(measure) != path[-1].other.of(measure)]
    found.sort(key=lambda path: -abs(path[-1].other.of(measure) - path[-1].amounts.of(measure)))
    rows = []
    for path in found[:DIFFERENCES]:
        here, there = path[-1].amounts, path[-1].other
        side = side_of(here.of(measure), there.of(measure))
        rows.append(
            Difference(
                name=path[-1].name,
                path=" \N{RIGHTWARDS ARROW} ".join(each.name for each in path[1:-1]),
                here=amount(here, measure),
                there=amount(there, measure),
                difference=difference(here, there, measure),
                css=side,
            )
        )
    return rows
