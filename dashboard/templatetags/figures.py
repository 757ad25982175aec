"""Template filters and tags for figures, times, icons and bars. All arguments are escaped."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Protocol

from django import template
from django.conf import settings
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.rendering import number_format
from dashboard.rendering.user_agent import browser
from dashboard.shared import usage_bar
from dashboard.shared.queries import costs
from dashboard.shared.waste.queries.wastes import Flag

register = template.Library()

register.filter("tokens", number_format.tokens)
register.filter("exact", number_format.exact)
register.filter("money", number_format.money)
register.filter("duration", number_format.duration)
register.filter("round_money", number_format.round_money)
register.filter("round_time", number_format.round_time)
register.filter("spoken", number_format.spoken)
register.filter("size", number_format.size)
register.filter("percent", number_format.percent)
register.filter("ratio", number_format.ratio)
register.filter("points", number_format.points)
register.filter("rate", number_format.rate)
register.filter("odds", number_format.odds)
register.filter("plural", number_format.plural)
register.filter("short_id", number_format.short_id)
register.filter("browser", browser)

GLYPHS = {  # state: (glyph, tone, words)
    "pending": ("pending", "muted", "Pending"),
    "unstarted": ("pending", "muted", "Never started"),
    "running": ("running", "running", "Running"),
    "open": ("running", "running", "Running"),
    "stale": ("stale", "muted", "Stale"),
    "completed": ("completed", "completed", "Completed"),
    "done": ("completed", "completed", "Completed"),
    "rejected": ("rejected", "rejected", "Rejected"),
    "limit": ("rejected", "rejected", "Stopped at a limit"),
    "aborted": ("aborted", "muted", "Aborted"),
    "cancelled": ("aborted", "muted", "Cancelled"),
    "cut": ("aborted", "muted", "Cut off"),
    "error": ("error", "error", "Error"),
    "failed": ("error", "error", "Failed"),
    "approval": ("approval", "waiting", "Waiting for approval"),
    "waiting": ("approval", "waiting", "Waiting for approval"),
    "winner": ("winner", "winner", "Winner"),
    "compaction": ("compaction", "compaction", "Compaction"),
    "waste": ("rejected", "rejected", "Waste"),
}


@register.filter
def status_word(state: str) -> str:
    """Return the label of a state."""
    return GLYPHS[state][2]


class _Outliers(Protocol):
    """The turns of a loop that stand out."""

    @property
    def count(self) -> int: ...


class _Row(Protocol):
    """A row of a tree of loops."""

    @property
    def state(self) -> str: ...
    @property
    def failed_tools(self) -> int: ...
    @property
    def other_errors(self) -> int: ...
    @property
    def waste(self) -> Flag | None: ...
    @property
    def outliers(self) -> _Outliers | None: ...
    @property
    def own_cost(self) -> costs.HasCost | None: ...
    @property
    def whole(self) -> costs.Cost | None: ...


@register.filter
def status_summary(row: _Row) -> str:
    """Describe a row of the tree for screen readers: completed, 1 failed tool, 69.6 cents."""
    words = [status_word(row.state).lower()]
    if row.failed_tools:
        words.append(number_format.plural(row.failed_tools, "failed tool"))
    if row.other_errors:
        words.append(number_format.plural(row.other_errors, "error"))
    if row.waste:
        words.append(number_format.plural(row.waste.calls, "wasted call"))
    if row.outliers:
        words.append(number_format.plural(row.outliers.count, "outlier"))
    if row.own_cost and (row.own_cost.cost_nano is not None or row.own_cost.unpriced):
        words.append(number_format.spoken(row.own_cost.cost_nano, row.own_cost.unpriced))
    if row.whole:
        words.append(f"with sub-agents {number_format.spoken(row.whole.cost_nano, row.whole.unpriced)}")
    return ", ".join(words)


@register.simple_tag
def icon(name: str, size: str = "", label: str = "", extra: str = "") -> SafeString:
    """Render an icon; without a label it is decorative. `size` is small or tiny."""
    classes = " ".join(filter(None, ("icon", size and f"icon-{size}", extra)))
    return _drawing(classes, f"i-{name}", label)


@register.simple_tag
def command(words: str) -> str:
    """Return a command line as typed: `loopscope WORDS`, or with manage.py in a checkout."""
    return f"{settings.COMMAND} {words}"


@register.simple_tag
def status(state: str, label: str | None = None) -> SafeString:
    """Render the glyph of a state, labelled with its word; pass "" where the word is next to it."""
    glyph, _, word = GLYPHS[state]
    return _drawing(f"status status-{glyph}", f"s-{glyph}", word if label is None else label)


@register.simple_tag
def pill(state: str, text: str = "") -> SafeString:
    """Render a state as a pill: glyph and word."""
    _, tone, word = GLYPHS[state]
    return format_html('<span class="pill tone-{}">{}{}</span>', tone, status(state, ""), text or word)


@register.simple_tag
def logo() -> SafeString:
    """Render the logo."""
    return _drawing("", "logo", "")


@register.simple_tag
def amount(count: int | None) -> SafeString:
    """Render a token count; the title attribute has the exact number."""
    if count is None or count < 1_000:
        return format_html("{}", number_format.tokens(count))
    return format_html('<span title="{}">{}</span>', number_format.exact(count), number_format.tokens(count))


@register.simple_tag
def cost(record: costs.HasCost) -> SafeString:
    """Render a cost; the title attribute has the exact amount and its source."""
    shown = number_format.money(record.cost_nano, record.unpriced)
    if record.cost_nano is None and not record.unpriced:
        return format_html('<span title="{}">{}</span>', "no cost", shown)
    return format_html('<span title="{}">{}</span>', costs.words(record), shown)


@register.filter
def with_query(url: str, query: str) -> str:
    """Append a query string to `url`, which may have one already."""
    return f"{url}{'&' if '?' in url else '?'}{query}"


@register.filter
def when(moment: datetime | None) -> SafeString | str:
    """Render a time, which a script turns into "2s ago"; the HTML is absolute: a push equals a reload."""
    if moment is None:
        return number_format.NONE
    utc = moment.astimezone(UTC)
    return _time("data-when", utc, f"{utc.day} {utc:%b %H:%M}")


@register.filter
def clock(moment: datetime | None) -> SafeString | str:
    """Render a time of day in UTC, which a script converts to the browser's time zone."""
    if moment is None:
        return number_format.NONE
    utc = moment.astimezone(UTC)
    return _time("data-clock", utc, f"{utc:%H:%M:%S}")


@register.filter
def date_time(moment: datetime | None) -> SafeString | str:
    """Render a date and time of day in UTC, which a script converts to the browser's time zone."""
    if moment is None:
        return number_format.NONE
    utc = moment.astimezone(UTC)
    return _time("data-date", utc, f"{utc.day} {utc:%b %Y, %H:%M} UTC")


@register.simple_tag
def elapsed(started: datetime | None, ended: datetime | None = None) -> SafeString | str:
    """Format a duration; without an end, the page counts up from the start."""
    if started is None:
        return number_format.NONE
    if ended is None:
        return _time("data-start", started.astimezone(UTC), f"since {started.astimezone(UTC):%H:%M}")
    return number_format.duration(max(ended - started, timedelta()))


@register.simple_tag
def silence(last_event_at: datetime) -> SafeString:
    """Say how long nothing happened; the page counts up from the last event."""
    return format_html("no events for {}", elapsed(last_event_at))


@register.simple_tag
def meter(shown: usage_bar.Usage, extra: str = "") -> SafeString:
    """Render token usage as a bar of five kinds, labelled with the numbers. `extra` may be meter-large."""
    laid = usage_bar.segments([(kind.css, kind.count) for kind in usage_bar.kinds(shown)])
    return _bar(laid, extra, usage_bar.words(shown))


@register.simple_tag
def mix(parts: Sequence[tuple[str, int]]) -> SafeString:
    """Render amounts as a stacked bar; it is decorative, as the sum is next to it."""
    return _bar(usage_bar.segments(parts), "", "")


@register.filter
def magnitude(nano: int) -> str:
    """Format nano-dollars as dollars for style sheets, with two digits: 4.2e-03."""
    return f"{nano / 1e9:.1e}"


@register.simple_tag
def bar(part: int, whole: int, css: str, label: str = "") -> SafeString:
    """Render a part of a whole as a bar."""
    return _bar([usage_bar.Segment(css, 0, round(100 * part / whole, 2) if whole else 0)], "", label)


@register.simple_tag
def stacked(laid: Sequence[usage_bar.Segment]) -> SafeString:
    """Render parts as a large stacked bar; a legend next to it names them."""
    return _bar(list(laid), "meter-large", "")


@register.inclusion_tag("_shared/_legend.html")
def legend(shown: usage_bar.Usage) -> dict[str, list[usage_bar.Kind]]:
    """Render the legend of the five token kinds with their numbers."""
    return {"kinds": usage_bar.kinds(shown)}


@register.simple_tag
def spark(values: Sequence[float]) -> SafeString:
    """Render a sparkline."""
    top = max(values, default=0) or 1
    step = 100 / max(len(values) - 1, 1)
    line = "L".join(f"{i * step:.2f} {26 - 24 * value / top:.2f}" for i, value in enumerate(values))
    return format_html(
        '<svg class="sparkline" viewBox="0 0 100 28" preserveAspectRatio="none" aria-hidden="true">'
        '<path class="sparkline-area" d="M0 28L{0}L100 28Z"/><path class="sparkline-line" d="M{0}"/></svg>',
        line or "0 26",
    )


@cache
def _sprite() -> str:
    return static("icons.svg")


@lru_cache(maxsize=512)  # a page has hundreds of icons, of a few kinds
def _drawing(classes: str, symbol: str, label: str) -> SafeString:
    name = (
        format_html('role="img" aria-label="{}"', label) if label else format_html('aria-hidden="{}"', "true")
    )
    return format_html('<svg class="{}" {}><use href="{}#{}"/></svg>', classes, name, _sprite(), symbol)


def _time(kind: str, utc: datetime, text: str) -> SafeString:
    title = f"{utc.day} {utc:%b %Y, %H:%M:%S} UTC"
    iso = utc.isoformat().replace("+00:00", "Z")
    return format_html('<time datetime="{}" title="{}" {}>{}</time>', iso, title, kind, text)


def _bar(laid: list[usage_bar.Segment], extra: str, label: str) -> SafeString:
    name = (
        format_html('role="img" aria-label="{}"', label) if label else format_html('aria-hidden="{}"', "true")
    )
    rects = format_html_join(
        "",
        '<rect class="{}" x="{}" width="{}" height="6"/>',
        ((part.css, part.x, part.width) for part in laid),
    )
    return format_html(
        '<svg class="meter{}" viewBox="0 0 100 6" preserveAspectRatio="none" {}>{}</svg>',
        f" {extra}" if extra else "",
        name,
        rects,
    )
