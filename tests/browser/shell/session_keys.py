"""Keys of a session, each given after it has done its work: of its turns, its notes and its timeline."""

from tests.support import build

# Waits for a module that the page imports by itself.
LOADED = """async (name) => {
  const find = () => performance.getEntriesByType("resource").find((each) => each.name.includes(name));
  while (!find()) await new Promise((done) => setTimeout(done, 10));
  await import(find().name);
}"""


def failed_call(loop):
    """Return a loop whose tool call fails after two seconds."""
    return [
        build.agent_start(loop),
        build.turn_start(loop),
        build.tool_start(loop, timestamp=build.time(2)),
        build.tool_end(loop, is_error=True, timestamp=build.time(4)),
        build.turn_end(loop),
    ]


def turns_of(page, recorded):
    page.goto(page.url.split("/p/")[0] + recorded["failed"])
    page.locator("[data-connection=live]").wait_for()
    for key in "DSE":
        page.keyboard.press(key)
        page.wait_for_url("**/loops/*?turn=*#turn-*")
        page.goto(page.url.split("/p/")[0] + recorded["failed"])
        page.locator("[data-connection=live]").wait_for()
        yield key
    page.keyboard.press("#")
    page.keyboard.type("1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/loops/*?turn=1#turn-1")
    yield "#"


def notes(page):
    page.keyboard.press(".")
    page.locator("#rail").wait_for()
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press(".")
    page.locator("#rail").wait_for(state="detached")
    page.locator("[data-connection=live]").wait_for()
    yield "."
    for key, label in (("n", "Note"), ("r", "Score"), ("b", "Bookmark")):
        page.keyboard.press(key)
        dialog = page.locator("#note-dialog")
        dialog.get_by_text(label).first.wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        yield key


def timeline(page):
    page.keyboard.press("2")
    page.wait_for_url(lambda url: "tab=timeline" in url)
    page.locator("[data-timeline]").wait_for()
    for key, inside in (("+", "zoom="), ("+", "zoom="), ("-", "zoom="), ("0", "tab=timeline")):
        before = page.url
        page.keyboard.press(key)
        page.wait_for_url(lambda url, before=before: url != before)
        page.locator("[data-timeline]").wait_for()
        assert inside in page.url
        yield key
    assert "zoom=" not in page.url
    box = page.locator("[data-timeline] .waterfall-lane").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 5)
    page.evaluate(LOADED, "timeline_zoom")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5)
    page.mouse.up()
    page.wait_for_url(lambda url: "zoom=" in url)
