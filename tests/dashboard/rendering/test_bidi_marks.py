"""Bidirectional controls: isolated and marked in text of every template, and nowhere else."""

import html
import re

import pytest
from django.template import engines
from django.template.loader import render_to_string

from dashboard.rendering.markdown import CONTROLS, mark_controls

RLO, LRI, PDI = "\u202e", "\u2066", "\u2069"


def text_of(shown):
    """Return what a browser copies from HTML without blocks."""
    return html.unescape(re.sub(r"<[^>]*>", "", shown))


@pytest.mark.parametrize("control", CONTROLS)
def test_each_control_is_isolated_with_its_code_point_and_copies_as_it_was(control):
    shown = mark_controls(f"<p>a{control}b</p>")

    mark = f'<bdi class="bidi-control" title="U+{ord(control):04X}">{control}</bdi>'
    assert shown == f"<p>a{mark}b</p>"
    assert text_of(shown) == f"a{control}b"


@pytest.mark.parametrize(
    "kept",
    [
        "<p>plain · text</p>",
        f'<a title="{RLO}x">y</a>',
        f"<title>{RLO}</title>",
        f"<textarea a>{RLO}\n</textarea>",
        f"<option>{RLO}</option>",
        f"<svg><text>{RLO}</text></svg>",
        f"<!-- {RLO} -->",
    ],
)
def test_attributes_and_elements_that_hold_only_text_stay(kept):
    assert mark_controls(kept) == kept


def test_a_second_pass_changes_nothing():
    once = mark_controls(f"<p>{RLO}a{LRI}b{PDI}</p>")

    assert mark_controls(once) == once


def test_twice_the_text_is_twice_the_html():
    short, long = (mark_controls(f"<p>{RLO * size}</p>") for size in (1_000, 2_000))

    assert long.count("<bdi") == 2 * short.count("<bdi") == 2_000


def test_every_template_marks_controls():
    template = engines["django"].from_string("<p>{{ text }}</p><i title='{{ text }}'></i>")

    assert template.render({"text": f"<{RLO}>"}) == (
        f'<p>&lt;<bdi class="bidi-control" title="U+202E">{RLO}</bdi>&gt;</p><i title=\'&lt;{RLO}&gt;\'></i>'
    )
    assert "bidi-control" not in render_to_string("404.html")
