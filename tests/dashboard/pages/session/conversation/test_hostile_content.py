"""Content written by agents on session pages: never markup, and raw text on request."""

import base64

from tests.dashboard.rendering.test_tool_text import png
from tests.support import build


def test_markup_written_by_an_agent_is_escaped_on_every_page(feed, reader, every_page):
    feed(tape="hostile")

    paths = list(every_page())
    assert len(paths) >= 5
    for path in paths:
        html = reader.get(path).content.decode()
        for start in (
            "<img src=x",
            "<svg onload",
            "<iframe",
            "<base",
            '<form action="http',
            "<object",
            "<meta http-equiv",
        ):
            assert start not in html, (path, start)
        assert "javascript:" not in " ".join(part.split('"')[0] for part in html.split('href="')[1:])
        assert "<script>window" not in html


def test_a_page_shows_the_text_streamed_so_far(feed, session):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.message_start(message=build.assistant("") | {"content": []}),
    )
    feed(build.message_update(text="Once upon "), build.message_update(text="a time"))

    page = session()

    assert "Once upon a time" in page.part("loop")
    assert "streaming" in page.part("loop")


def test_an_image_is_served_with_its_detected_type_and_other_data_is_only_described(feed, loop, reader):
    good = {"type": "image", "mimeType": "text/html", "data": base64.b64encode(png()).decode()}
    bad = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"<svg onload=x>").decode()}
    feed(
        build.agent_start("s.a.1"),
        build.message_end("s.a.1", message={"role": "user", "content": [good, bad], "timestamp": 1}),
    )

    page = loop("s.a.1")
    (image,) = [e for e in page.root.walk() if e.tag == "img"]
    response = reader.get(image.attributes["src"])

    assert response.content == png()
    assert response["Content-Type"] == "image/png"
    assert response["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "not shown" in page.text
    for path in ("message.content.1", "message.content.9", "message", ""):
        assert reader.get(image.attributes["src"].replace("message.content.0", path)).status_code == 404


def test_raw_texts_are_shown_on_request(feed, session, see):
    message = build.assistant() | {"content": [{"type": "text", "text": "**bold** and `code`"}]}
    feed(build.agent_start(), build.turn_start(), build.message_end(message=message))
    page = session()
    [other] = [href for href in page.links if "raw=1" in href]

    assert "<strong>bold</strong>" in page.html
    raw = see(other.partition("#")[0])
    assert '<p class="plain">**bold** and `code`</p>' in raw.html
    assert ">Rendered</a>" in raw.html
