"""Formatting of figures: tokens, money, durations, sizes, shares. Plain text without markup."""

from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache

from recorder.core.content import text

SMALLEST = Decimal("0.0001")  # dollars up to which an amount is not abbreviated
MONTH = 2_629_746  # seconds: a twelfth of a year; durations from two on are shown in months
NONE = "\N{EN DASH}"  # not applicable; never 0


def tokens(count: int | None) -> str:
    """Format a token count with at most three digits: 12.3k."""
    return NONE if count is None else text.format_token_count(count)


def exact(count: int | None) -> str:
    """Format an integer with thousands separators."""
    return NONE if count is None else f"{count:,}"


@lru_cache(maxsize=8_192)  # a redraw of the tab Context formats the costs of a thousand calls again
def money(nano: int | None, unpriced: int = 0) -> str:
    """Format nano-dollars, with "+" if parts have no price: $0.0042 $0.742 $41.83 $1,622 $4.15 +."""
    if unpriced and not nano:
        return "no price"
    if nano is None:
        return NONE
    more = " +" if unpriced else ""
    dollars = Decimal(abs(nano)).scaleb(-9)
    if 0 < dollars < SMALLEST:
        return f"<${SMALLEST}{more}"
    dollars = round(dollars, _decimals(dollars))
    return f"{'-' if nano < 0 else ''}${dollars:,.{_decimals(dollars)}f}{more}"


def spoken(nano: int | None, unpriced: int = 0) -> str:
    """Format nano-dollars for screen readers: 69.6 cents, 4.18 dollars, no price."""
    if unpriced and not nano:
        return "no price"
    if nano is None:
        return ""
    more = ", parts without a price" if unpriced else ""
    if 0 < abs(nano) < 10**9:
        cents = Decimal(nano).scaleb(-7)
        return f"{round(cents, 1 if abs(cents) >= 10 else 2).normalize():f} cents{more}"
    return f"{Decimal(nano).scaleb(-9):,.2f} dollars{more}"


def duration(length: timedelta | int | None) -> str:
    """Format a duration in milliseconds or as timedelta: 400ms 6.4s 48s 1m 04s 2h 07m 3d 04h 8 months."""
    if length is None:
        return NONE
    ms = max(0, length // timedelta(milliseconds=1) if isinstance(length, timedelta) else length)
    if ms < 1_000:
        return f"{ms}ms"
    if ms < 9_950:
        return f"{ms / 1_000:.1f}s"
    seconds = (ms + 500) // 1_000
    if seconds >= 2 * MONTH:
        return f"{seconds // MONTH} months"
    return next(
        (
            f"{seconds // size}{unit} {seconds % size // smaller:02d}{rest}"
            for size, unit, smaller, rest in (
                (86_400, "d", 3_600, "h"),
                (3_600, "h", 60, "m"),
                (60, "m", 1, "s"),
            )
            if seconds >= size
        ),
        f"{seconds}s",
    )


def round_money(nano: int) -> str:
    """Format a round amount in full, without trailing zeros: $0.05 $1 $200 $0.00002."""
    return f"${Decimal(nano).scaleb(-9).normalize():,f}"


def round_time(time: timedelta) -> str:
    """Format a round time in full, without the units that are zero: 0 200ms 15s 1m 30s 2h 3d 12h."""
    seconds, micros = divmod(time // timedelta(microseconds=1), 1_000_000)
    rest = seconds
    words = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        count, rest = divmod(rest, size)
        words += [f"{count}{unit}"] if count else []
    if micros and not seconds:
        return f"{(Decimal(micros) / 1_000).normalize():f}ms"
    if rest or micros:
        words.append(f"{(Decimal(rest) + Decimal(micros).scaleb(-6)).normalize():f}s")
    return " ".join(words) or "0"


def size(count: int | None) -> str:
    """Format a number of bytes: 212 B 1.9 kB 48 kB 5.6 GB."""
    if count is None:
        return NONE
    value, unit = float(count), "B"
    for bigger in ("kB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1_000, bigger
    return f"{value:.1f} {unit}" if unit != "B" and value < 9.95 else f"{value:,.0f} {unit}"


def percent(share: float | None) -> str:
    """Format a share of 1 in percent: one decimal below 10%, else none."""
    if share is None:
        return NONE
    value = share * 100
    return f"{value:.0f}%" if value >= 9.95 or value == 0 else f"{value:.1f}%"


def ratio(share: float | None) -> str:
    """Format a ratio: in percent below 1,000%, else as a multiple such as 234x, with a real sign."""
    if share is None or share * 100 < 999.5:
        return percent(share)
    return f"{share:,.0f}\N{MULTIPLICATION SIGN}"


def _decimals(dollars: Decimal) -> int:
    """Return the number of decimals of an amount: two significant digits below 1 cent, else three."""
    if dollars == 0 or dollars >= 1_000:
        return 0
    if dollars >= 1:
        return 2
    first = -dollars.adjusted()  # position of the first significant decimal
    return max(3, first + (1 if first > 2 else 2))


def points(share: float | None) -> str:
    """Format a share of 1 in percent with one decimal, for comparison, without the sign."""
    if share is None:
        return NONE
    exact_share = (
        Decimal(repr(float(share))) * 100
    )  # 41 of 80 is 51.25%, rounded up to 51.3%; a float may round it down
    return str(exact_share.quantize(Decimal("0.1"), ROUND_HALF_UP))


def rate(share: float | None) -> str:
    """Format a share of 1 in percent with one decimal and the sign."""
    return NONE if share is None else f"{points(share)}%"


def odds(chance: float | None) -> str:
    """Format a p value."""
    if chance is None:
        return NONE
    return f"{chance:.4f}" if chance >= SMALLEST else f"<{SMALLEST}"


def short_id(text: str) -> str:
    """Return the first eight characters of a UUID; any other id unchanged."""
    return text[:8] if len(text) == 36 and text[8] == text[23] == "-" else text


def plural(count: int, words: str) -> str:
    """Format a count with its noun, given as "turn" or "branch,branches"."""
    one, _, many = words.partition(",")
    return f"{count:,} {one if count == 1 else many or one + 's'}"
