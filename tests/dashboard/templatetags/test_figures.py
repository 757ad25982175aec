"""Icons, states, times and bars in templates, with any text."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace

from django.template import engines

from dashboard.shared import usage_bar

START = datetime(2026, 11, 4, 14, 2, 24, tzinfo=UTC)


@dataclass(frozen=True)
class Used:
    input_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


def rendered(source, **context):
    return engines["django"].from_string("{% load figures %}" + source).render(context)


def test_an_icon_is_decoration_until_it_has_a_label():
    assert 'class="icon icon-small" aria-hidden="true"' in rendered('{% icon "search" "small" %}')
    assert 'role="img" aria-label="Search"' in rendered('{% icon "search" label="Search" %}')


def test_a_label_cannot_break_out_of_its_attribute():
    assert '"&gt;&lt;script&gt;' not in rendered("{% icon 'x' label=label %}", label='"><script>')
    assert "<script>" not in rendered("{% icon 'x' label=label %}", label='"><script>')


def test_a_state_is_a_glyph_with_its_word():
    assert 'class="status status-running" role="img" aria-label="Running"' in rendered(
        '{% status "running" %}'
    )
    assert "Waiting for approval" in rendered('{% pill "waiting" %}')
    assert 'aria-hidden="true"' in rendered('{% status "failed" "" %}')


def test_a_large_amount_shows_the_exact_one_on_hover():
    assert rendered("{% amount 148213 %}") == '<span title="148,213">148k</span>'
    assert rendered("{% amount 12 %}") == "12"


def test_a_time_is_readable_without_javascript_and_does_not_depend_on_the_clock():
    assert rendered("{{ at|when }}", at=START) == (
        '<time datetime="2026-11-04T14:02:24Z" title="4 Nov 2026, 14:02:24 UTC" data-when>4 Nov 14:02</time>'
    )
    assert ">14:02:24</time>" in rendered("{{ at|clock }}", at=START)
    assert rendered("{{ at|when }}", at=None) == "–"  # noqa: RUF001  the sign on screen


def test_a_running_loop_counts_up_and_an_ended_one_has_a_duration():
    assert "data-start>since 14:02</time>" in rendered("{% elapsed at %}", at=START)
    ended = START + timedelta(seconds=64)
    assert rendered("{% elapsed at end %}", at=START, end=ended) == "1m 04s"
    assert rendered("{% elapsed end at %}", at=START, end=ended) == "0ms"


def test_a_meter_has_its_five_numbers_in_its_label():
    used = Used(66_000, 12_000, 1_000, 204_000, 31_000)
    html = rendered("{% meter used %}", used=used)
    assert (
        'aria-label="204k cache read, 66.0k input, 31.0k cache write, 1.0k reasoning, 11.0k output tokens"'
        in html
    )
    assert html.count("<rect") == 5
    assert "style=" not in html


def test_segments_fill_the_bar_with_gaps_between_them():
    laid = usage_bar.segments(
        [
            ("usage-cache-read", 204),
            ("usage-input", 66),
            ("usage-cache-write", 31),
            ("usage-reasoning", 0),
            ("usage-output", 11),
        ]
    )
    assert [part.css for part in laid] == [
        "usage-cache-read",
        "usage-input",
        "usage-cache-write",
        "usage-output",
    ]
    assert abs(sum(part.width for part in laid) - (100 - 4 * usage_bar.GAP)) < 0.05
    assert all(b.x >= a.x + a.width for a, b in pairwise(laid))


def test_reconciled_tokens_are_counted_in_one_kind_each():
    used = {
        "input_tokens": 17_903,
        "cache_read_tokens": 17_817,
        "output_tokens": 30,
        "reasoning_tokens": 20,
    }
    known = SimpleNamespace(**vars(Used(**used)), uncached_tokens=86, visible_tokens=10, unreconciled=0)
    partly = SimpleNamespace(**{**vars(known), "unreconciled": 1})

    assert [kind.count for kind in usage_bar.kinds(known)] == [17_817, 86, 0, 20, 10]
    assert [kind.count for kind in usage_bar.kinds(partly)] == [17_817, 17_903, 0, 20, 10]


def test_reasoning_is_subtracted_from_output_only_if_it_is_included():
    inside = {kind.name: kind.count for kind in usage_bar.kinds(Used(output_tokens=30, reasoning_tokens=20))}
    beside = {kind.name: kind.count for kind in usage_bar.kinds(Used(output_tokens=10, reasoning_tokens=20))}
    assert (inside["reasoning"], inside["output"]) == (20, 10)
    assert (beside["reasoning"], beside["output"]) == (20, 10)


def test_no_usage_is_an_empty_bar():
    assert "<rect" not in rendered("{% meter used %}", used=Used())


def test_a_legend_and_a_sparkline_have_no_inline_style():
    html = rendered(
        "{% legend used %}{% spark values %}{% bar 1 4 'config-3' %}", used=Used(5), values=[0, 3, 1]
    )
    assert "style=" not in html
    assert 'width="25.0"' in html
