"""Keys of a session, each given after it has done its work: those of its turns and of its notes."""


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
