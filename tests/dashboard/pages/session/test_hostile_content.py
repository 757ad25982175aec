"""What agents wrote, on session pages: never markup of theirs, and as it was written when asked."""

import base64

from tests.dashboard.rendering.test_tool_text import png
from tests.support import build


def test_what_an_agent_wrote_stays_text_on_every_page(feed, reader, every_page):
    feed(tape="hostile")

    for path in every_page():
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


def test_text_that_streams_is_on_the_page_so_far(feed, session):
    feed(
        build.agent_start(),
        build.turn_start(),
        build.message_start(message=build.assistant("") | {"content": []}),
    )
    feed(build.message_update(text="Once upon "), build.message_update(text="a time"))

    page = session()

    assert "Once upon a time" in page.part("loop")
    assert "streaming" in page.part("loop")


def test_an_image_is_served_by_us_as_what_it_is_and_anything_else_is_only_told(feed, loop, reader):
    good = {"type": "image", "mimeType": "text/html", "data": base64.b64encode(png()).decode()}
    bad = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"<svg onload=x>").decode()}
    feed(
        build.agent_start("s.a.1"),
        build.message_end("s.a.1", message={"role": "user", "content": [good, bad], "timestamp": 1}),
    )

    page = loop("s.a.1")
    (image,) = [e for e in page.root.walk() if e.tag == "img"]
    answer = reader.get(image.attributes["src"])

    assert answer.content == png()
    assert answer["Content-Type"] == "image/png"
    assert answer["Content-Security-Policy"].startswith("default-src 'none'; sandbox")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "not shown" in page.text
    for path in ("message.content.1", "message.content.9", "message", ""):
        assert reader.get(image.attributes["src"].replace("message.content.0", path)).status_code == 404


def test_texts_stand_as_they_were_written_when_asked(feed, session, see):
    said = build.assistant() | {"content": [{"type": "text", "text": "**bold** and `code`"}]}
    feed(build.agent_start(), build.turn_start(), build.message_end(message=said))
    page = session()
    [other] = [href for href in page.links if "raw=1" in href]

    assert "<strong>bold</strong>" in page.html
    raw = see(other.partition("#")[0])
    assert '<p class="plain">**bold** and `code`</p>' in raw.html
    assert ">Rendered</a>" in raw.html
