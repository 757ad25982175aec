"""Work of the page per frame: only for changed panels, and in short tasks."""

from tests.browser.played_socket import panel


def test_between_the_panels_of_a_large_frame_the_page_is_free(open_page):
    page, wire = open_page("".join(panel(n, "old", oob=False) for n in range(4)))
    page.evaluate(
        """() => {
          let now = 0;
          performance.now = () => (now += 20); // each panel takes longer than a slice
          window.seen = [];
          const pane = document.querySelector("#pane");
          const what = { childList: true, characterData: true, subtree: true };
          new MutationObserver(() => seen.push(pane.innerText)).observe(pane, what);
        }"""
    )
    wire.sockets[-1].send("<!--frame 1-->" + "".join(panel(n, "new") for n in range(4)))
    wire.number = 1
    wire.send(panel(0, "newest"))

    words = [text.split() for text in page.evaluate("seen") if "old" in text or "new" in text]
    counts = [sum(word != "old" for word in each) for each in words]
    assert counts[0] == 1
    assert sorted(counts) == counts
    assert words[-1] == ["newest", "new", "new", "new"]  # the second frame waited for the whole of the first
    assert wire.acks == ['{"ack":1}', '{"ack":2}']


def test_a_frame_that_changes_nothing_touches_nothing(open_page):
    time = '<time datetime="2026-02-11T09:00:00Z" data-clock>09:00:00</time>'
    page, wire = open_page(panel(1, f"<p>{time}</p><details open>same</details>", oob=False))
    wire.send()
    page.evaluate(
        """() => {
          window.changes = [];
          const what = { childList: true, characterData: true, attributes: true, subtree: true };
          const note = (all) => changes.push(...all.map((each) => each.type));
          new MutationObserver(note).observe(document.querySelector("#x-1"), what);
        }"""
    )
    wire.send(panel(1, f"<p>{time}</p><details open>same</details><b>new</b>"))
    assert page.evaluate("changes") == ["childList"]
    assert page.locator("time").get_attribute("title").endswith("local")
