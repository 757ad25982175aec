"""Bidirectional controls in a browser: visible, without effect on other text, and copied as they were."""

from tests.support import build

TEXT = "rm \u202etxt.exe\u2066 end"
SELECTED = """() => {
  const mark = document.querySelector("main .bidi-control");
  getSelection().selectAllChildren(mark.parentElement);
  return getSelection().toString();
}"""


def test_a_marked_control_is_shown_and_a_copy_equals_the_original(window, server):
    server.agent().send(build.agent_start("bidi.a.1"), build.input_rejected("bidi.a.1", reason=TEXT))
    page = window().open(server.session_url("bidi"))
    marks = page.locator("main .bidi-control:visible")

    assert marks.count() >= 2
    shown = marks.first.evaluate("(mark) => getComputedStyle(mark, '::before').content")
    assert shown.strip('"') == "U+202E"
    assert marks.first.bounding_box()["width"] > 10
    assert TEXT in page.evaluate(SELECTED)
