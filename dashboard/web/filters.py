"""Filters of a page: defined once, parsed into its address, shown as menus and removable tokens.

A page lists its filters as `Filter`s; each has the name of a field of the page's address. `bar` returns what
`_shared/filter_bar.html` and `_shared/time_ranges.html` show. They work as plain GET forms and links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

from django.utils import timezone

from dashboard.web.query_params import Address, Choices, Reading
from dashboard.web.time_range import CALENDAR, Ranged, TimeRange, time_range, within, words

if TYPE_CHECKING:
    from dashboard.web.links import Value

RANGE = ("since", "until")
SHOWN = "shown"  # the parameter of conditions that menus had chosen


def _same(value: str) -> str:
    return value


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: a parameter, whose value in the address is a text, a tuple of texts, or a number."""

    name: str  # of the parameter
    label: str  # of the menu and the token
    known: Mapping[str, str] | None = None  # possible values with their labels; None: any text
    is_single: bool = False  # one value at a time
    has_token: bool = True
    shown: Callable[[str], str] = _same  # a value as its token shows it, unless an option names it

    def values(self, read: Reading) -> tuple[str, ...]:
        """Return the valid values of the parameter; invalid ones become notes."""
        return read.values(self.name, self.known or ())

    def of(self, address: Address) -> tuple[str, ...]:
        """Return the values in an address."""
        value = getattr(address, self.name)
        if isinstance(value, tuple):
            return value
        return () if value in ("", None) else (str(value),)

    def without(self, address: Address, value: str) -> str:
        """Return the link that removes one value."""
        had = getattr(address, self.name)
        rest = tuple(other for other in had if other != value) if isinstance(had, tuple) else type(had)()
        return address.but(**{self.name: None if isinstance(had, int) else rest}).query


@dataclass(frozen=True, slots=True)
class Option:
    """One checkbox or radio button of a menu."""

    name: str  # of the parameter
    value: str
    label: str
    is_on: bool
    state: str = ""  # name of its glyph
    config: object = None  # a config's chip, shown in place of the label
    condition: str = ""  # the condition written into the query
    count: str = ""


@dataclass(frozen=True, slots=True)
class Menu:
    """A button that opens a list of options."""

    label: str
    options: Sequence[Option]
    is_single: bool = False
    is_filter: bool = True  # an order is none
    nothing: str = "Nothing recorded yet"

    @property
    def ticked(self) -> int:
        """Return the number of selected options, for a menu that filters."""
        return sum(option.is_on and option.value != "" for option in self.options) if self.is_filter else 0


@dataclass(frozen=True, slots=True)
class Token:
    """An active filter, with the link that removes it."""

    name: str
    value: str
    without: str


class Bad(Protocol):
    """The error of a query, for `query_box/error.html`."""

    @property
    def message(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Search:
    """The text field of a filter bar."""

    name: str
    label: str
    placeholder: str
    value: str = ""
    title: str = ""
    key: str = ""  # keyboard shortcut that focuses it
    error: Bad | None = None  # why the query cannot be read
    address: str = ""  # the link to the page as it is, which forms with menus write otherwise
    completes: str = ""  # slug of the project whose keys and values complete a query; "" for plain words


@dataclass(frozen=True, slots=True)
class RangeMenu:
    """The choice of a time range; `since` and `until` are values of datetime-local fields, in UTC."""

    choices: Choices
    calendar: Choices  # days and weeks, by their words
    words: str  # of the range as they follow a noun, as "in the last 7 days"; "" for all time
    all: str  # link to the same list of all time; "" where that is shown, or the page has no such range
    is_custom: bool  # from one time to another
    range: TimeRange
    since: str
    until: str
    hidden: Sequence[tuple[str, str]]
    path: str

    @property
    def calendar_words(self) -> str:
        """Return the words of the day or week that is chosen; "" for another range."""
        return next((words for words, _, is_chosen in self.calendar if is_chosen), "")

    @property
    def is_chosen(self) -> bool:
        """Return whether the range is one of the menu."""
        return self.is_custom or bool(self.calendar_words)


@dataclass(frozen=True, slots=True)
class Bar:
    """Everything that a page shows of its filters."""

    path: str
    hidden: Sequence[tuple[str, str]]
    menus: Sequence[Menu]
    tokens: Sequence[Token]
    cleared: str  # link without filters
    notes: Sequence[str] = ()
    search: Search | None = None
    range: RangeMenu | None = None

    @property
    def ticked(self) -> int:
        """Return the number of selected options of all menus."""
        return sum(menu.ticked for menu in self.menus)

    @property
    def is_narrow(self) -> bool:
        """Return whether tokens or words narrow the page, apart from its time range."""
        return bool(self.tokens or (self.search and self.search.value))


@dataclass(frozen=True, slots=True)
class FilterPage:
    """The definition of a page's filters."""

    filters: Sequence[Filter]
    windows: Sequence[str] = ()  # time ranges, names of WINDOWS
    keeps: Sequence[str] = field(default=("since", "until", "sort", "cols"))  # parameters that "Clear" leaves

    def bar(
        self, address: Address, path: str, menus: Sequence[Menu] = (), search: Search | None = None
    ) -> Bar:
        """Return the filters of an address; `path` is the page's URL without a query string."""
        inputs = {option.name for menu in menus for option in menu.options}
        if search:
            inputs.add(search.name)
        return Bar(
            path=path,
            hidden=[*hidden(address, inputs), *shown(menus)],
            menus=menus,
            tokens=self.tokens(address, menus),
            cleared=self.cleared(address),
            notes=getattr(address, "notes", ()),
            search=search,
            range=self.range_menu(address, path) if self.windows else None,
        )

    def tokens(self, address: Address, menus: Sequence[Menu] = ()) -> list[Token]:
        """Return a token for each active filter, labelled as its option is."""
        labels = {
            (option.name, option.value): option.label
            for menu in menus
            for option in menu.options
            if not option.state  # a typed filter has the value's own word
        }
        return [
            Token(
                facet.label,
                labels.get((facet.name, value), facet.shown(value)),
                facet.without(address, value),
            )
            for facet in self.filters
            if facet.has_token
            for value in facet.of(address)
        ]

    def cleared(self, address: Address) -> str:
        """Return the link without filters; the time range and the order stay."""
        kept = {name: getattr(address, name) for name in self.keeps if hasattr(address, name)}
        return type(address)(**kept).query

    def is_custom(self, address: Ranged) -> bool:
        """Return whether the time range has a start or an end of its own."""
        return address.since not in (*self.windows, *CALENDAR) or address.until != ""

    def range_menu(self, address: Any, path: str) -> RangeMenu:
        """Return the choice of the time range of an address that has `since` and `until`."""

        def choice(name: str, label: str) -> tuple[str, str, bool]:
            pairs = address.but(since=name, until="").pairs() | {"since": name}
            link = f"?{urlencode(pairs, doseq=True)}"  # names the default, too: it is remembered
            return label, link, name == address.since and not address.until

        is_custom = self.is_custom(address)
        is_all = address.since == "all" and not address.until
        shown_range = time_range(address, timezone.now()) if is_custom else TimeRange()
        return RangeMenu(
            choices=[choice(name, name) for name in self.windows],
            calendar=[choice(name, label) for name, label in CALENDAR.items()],
            words=""
            if is_all
            else within(address.since, "selected time range" if is_custom else words(address.since)),
            all="" if is_all or "all" not in self.windows else choice("all", "")[1],
            is_custom=is_custom,
            range=shown_range,
            since=_local(shown_range.start),
            until=_local(shown_range.end),
            hidden=hidden(address, RANGE),
            path=path,
        )


def options(name: str, offered: Iterable[str], chosen: Sequence[str]) -> list[Option]:
    """Return an option for each recorded text, and for each that is selected, in alphabetical order."""
    values = sorted({*offered, *chosen} - {""}, key=lambda value: (value.casefold(), value))
    return [Option(name, value, value, value in chosen) for value in values]


def choices(name: str, known: Mapping[str, str], chosen: Sequence[str]) -> list[Option]:
    """Return an option for each possible value, in their order."""
    return [Option(name, value, label, value in chosen) for value, label in known.items()]


class Config(Protocol):
    """A config's chip."""

    @property
    def key(self) -> str: ...
    @property
    def label(self) -> str: ...


def config_options(name: str, offered: Iterable[Config], chosen: Sequence[str]) -> list[Option]:
    """Return an option for each config, and for each selected key, in alphabetical order of labels."""
    chips = {chip.key: chip for chip in offered}
    known = [Option(name, key, chip.label, key in chosen, config=chip) for key, chip in chips.items()]
    others = [Option(name, key, key, is_on=True) for key in chosen if key not in chips]
    return [*sorted(known, key=lambda option: option.label), *others]


def shown(menus: Sequence[Menu]) -> list[tuple[str, str]]:
    """Return hidden fields with the conditions of a query that menus show as chosen.

    A form sends no box that is not ticked: by these fields the page sees what was unticked.
    """
    options = (option for menu in menus for option in menu.options)
    return [(SHOWN, option.condition) for option in options if option.condition and option.is_on]


def hidden(address: Address, without: Iterable[str]) -> list[tuple[str, str]]:
    """Return the parameters that a form sends as hidden fields: all but those of its own inputs."""
    inputs = set(without)
    return [
        (name, str(value))
        for name, values in address.but().pairs().items()
        if name not in inputs
        for value in _each(values)
    ]


def _each(values: Value) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _local(moment: datetime | None) -> str:
    """Return the value of a datetime-local field, in UTC and whole minutes."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M}"
