"""Texts of tools: JSON trees, diffs, terminal colours, images; all escaped."""

import base64
import json
import re
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.rendering import ansi, images, tool_text
from tests.dashboard.page_model import parse


def shown(html):
    """Return the text that a browser would show."""
    root = parse(html)

    def text(element):
        return "".join(child if isinstance(child, str) else text(child) for child in element.children)

    return text(root)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.booleans())
def test_no_text_becomes_markup(content, is_whole):
    tags = {element.tag for element in parse(tool_text.text(content, is_whole=is_whole)).walk()}

    assert tags <= {"root", "pre", "span", "ins", "del", "div", "details", "summary", "ul", "li", "code"}


ESCAPES = st.sampled_from(
    [
        "\x1b[31m",
        "\x1b[0m",
        "\x1b[1;44m",
        "\x1b]8;;http://x\x07",
        "\x1b[2J",
        "\x1b",
        "\x1b[38;5;200m",
        "\x1b[99999m",
    ]
)


@given(st.lists(st.one_of(ESCAPES, st.text("ab<&\n", max_size=5)), max_size=30))
def test_escapes_change_the_style_and_never_the_text(parts):
    words = "".join(part for part in parts if not part.startswith("\x1b"))
    html = tool_text.text("".join(parts), is_whole=False)

    assert shown(html) == words
    assert set(" ".join(re.findall(r'<span class="([^"]*)"', html)).split()) <= {
        *(f"{side}-{n}" for side in ("color", "background") for n in range(8)),
        "bold",
    }


def test_colours_are_classes_and_end():
    spans = ansi.spans("a\x1b[1;31mred\x1b[39m bold\x1b[0m b\x1b[38;2;10;200;20mgreen\x1b[48;5;21mon blue")

    assert [(span.classes, span.text) for span in spans] == [
        ("", "a"),
        ("bold color-1", "red"),
        ("bold", " bold"),
        ("", " b"),
        ("color-2", "green"),
        ("color-2 background-4", "on blue"),
    ]


def test_text_overwritten_by_a_carriage_return_is_left_out():
    assert ansi.plain("\x1b[32m10%\r50%\r100%\r\ndone") == "100%\ndone"


def test_a_diff_is_coloured_line_by_line():
    html = tool_text.text("diff --git a b\n@@ -1,2 +1,2 @@\n same\n-<old>\n+<new>", is_whole=False)

    assert "<del>-&lt;old&gt;</del>" in html
    assert "<ins>+&lt;new&gt;</ins>" in html
    assert html.count("hunk") == 2
    assert "<ins>" not in tool_text.text("- a list\n+ of things", is_whole=True)


def test_json_folds_and_keeps_every_value():
    value = {"a": [1, 2.5, None, True], "<b>": {"c": "x\ny", "deep": [[[["end"]]]]}, "empty": {}}

    html = tool_text.text(json.dumps(value), is_whole=True)

    assert "<b>" not in html
    assert html.count("<details open>") == 3
    for word in ("2.5", "null", "true", "x\ny", "end", "{}", "4 items", "3 keys"):
        assert word in shown(html)
    assert tool_text.text(json.dumps(value), is_whole=False).startswith("<pre>")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 2_000 + "1" + "}" * 2_000, "{not json}", "[]"])
def test_invalid_or_deeply_nested_json_stays_text(content):
    assert shown(tool_text.text(content, is_whole=True)).startswith(content[:1])


def test_huge_json_renders_a_limited_number_of_nodes():
    html = tool_text.text(json.dumps([[n, n] for n in range(20_000)]), is_whole=True)

    assert html.count("<details") <= tool_text.NODES_MAX
    assert "19999" in html


def png(width=3, height=2):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\x80" * width) * height) if width < 100 else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


JPEG = (
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00"
    + b"\x00" * 9
    + b"\xff\xc0\x00\x11\x08\x00\x05\x00\x07\x03"
    + b"\x00" * 20
)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8X" + b"\x00" * 8 + (8).to_bytes(3, "little") + (9).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (png(), images.Image("image/png", 3, 2)),
        (b"GIF89a\x04\x00\x05\x00;", images.Image("image/gif", 4, 5)),
        (JPEG, images.Image("image/jpeg", 7, 5)),
        (WEBP, images.Image("image/webp", 9, 10)),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>", None),
        (b"<html>", None),
        (png(0, 5), None),
        (png(30_000, 30_000), None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8\xff" + b"\xff" * 50, None),
        (b"", None),
    ],
)
def test_an_image_is_identified_by_its_bytes(raw, found):
    assert images.identify(raw) == found
    if raw:
        assert images.identify_base64(base64.b64encode(raw).decode()) == found


@given(
    st.binary(max_size=80),
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF____WEBPVP8 ", b"\xff\xd8\xff"]),
)
def test_invalid_bytes_are_no_image_and_no_error(rest, begun):
    found = images.identify(begun + rest)

    assert found is None or (found.width > 0 and found.height > 0)


def test_too_long_base64_is_not_decoded():
    assert images.decode_base64("A" * (images.BYTES_MAX * 2)) is None
    assert images.decode_base64("not base64!") is None
