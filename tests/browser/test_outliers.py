"""Marks of outliers are told from other marks by shape, in both themes, and have words."""

import re

import pytest

from tests.browser.axe import COLOURS, RULES, serious
from tests.support import build

# Colours as sRGB, as the canvas converts them; luminance and contrast as WCAG 2.2 defines them.
CONTRAST = """(selector) => {
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((byte) => {
      const part = byte / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const mark = document.querySelector(selector);
  let around = mark;
  while (/^rgba\\(.*, 0\\)$/.test(getComputedStyle(around).backgroundColor) || around === mark)
    around = around.parentElement;
  const [low, high] = [
    light(getComputedStyle(mark).color),
    light(getComputedStyle(around).backgroundColor),
  ].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
STROKE = """(mark) => {
  const { strokeLinecap, strokeWidth } = getComputedStyle(mark);
  return [strokeLinecap, Number.parseFloat(strokeWidth)];
}"""
CONFIG = {"model": "claude-haiku-4-5", "provider": "anthropic", "api": "anthropic_messages"}
MARKS = (".tree .flag-outlier", ".waterfall .flag-outlier", ".waterfall .span-outlier", ".tick.event-outlier")


@pytest.fixture(scope="module")
def url(server):
    """The address of a session whose sixth turn took and cost more than the others."""
    loop, at = "above.a.1", 0
    events = [build.agent_start(loop, config_snapshot=CONFIG)]
    for index in range(8):
        length, tokens = (30, 9_000) if index == 5 else (2, 100)
        usage = {"input": tokens, "output": 0}
        message = build.assistant() | {**CONFIG, "usage": usage}
        events.append(build.turn_start(loop, index=index, at=at))
        at += length
        events.append(build.turn_end(loop, at=at, message=message, usage=usage))
    server.agent().send(*events, build.agent_end(loop, at=at))
    return server.session_url("above")


@pytest.fixture
def timeline(window, url):
    return window(viewport={"width": 1440, "height": 900}).open(f"{url}?tab=timeline")


def test_marks_of_outliers_are_seen_in_both_themes(timeline):
    timeline.emulate_media(reduced_motion="reduce")
    for scheme, rules in (("light", RULES), ("dark", COLOURS)):
        timeline.emulate_media(color_scheme=scheme)
        for mark in MARKS:
            assert timeline.evaluate(CONTRAST, mark) >= 4.5, (scheme, mark)
        assert serious(timeline, rules) == []


def test_on_the_replay_track_an_outlier_is_a_dot_and_an_event_a_line(timeline):
    dot = timeline.locator(".replay-drawing .event-outlier").evaluate(STROKE)
    line = timeline.locator(".replay-drawing .event-loop").evaluate(STROKE)
    assert dot == ["round", 7]
    assert line == ["butt", 1.5]
    legend = timeline.locator(".replay-legend .event-outlier").bounding_box()
    assert legend["width"] == legend["height"]


def test_a_screen_reader_hears_of_outliers_in_tree_timeline_and_track(timeline):
    assert "1 outlier" in timeline.locator("#loops .tree-line .visually-hidden").last.text_content()
    timeline.get_by_role("slider", name=re.compile("1 outlier")).wait_for()
    timeline.get_by_role(
        "cell", name=re.compile(r"Turn 6.*cost .*took ", re.IGNORECASE | re.DOTALL)
    ).wait_for()
