"""Keys of the lists of a project, each given after it has done its work."""


def period(page, recorded):
    page.keyboard.press("7")
    page.wait_for_url("**/sessions?since=7d")
    yield "7"
    page.goto(page.url.split("/p/")[0] + "/p/default/sessions?since=all")
    page.locator("[data-connection=live]").wait_for()


def dearest(page, recorded):
    page.goto(page.url.split("/p/")[0] + "/p/default/sessions?since=all")
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("D")
    page.wait_for_url("**/sessions/*")
    yield "D"


def attention(page, recorded):
    page.goto(page.url.split("/p/")[0] + "/p/default/attention")
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("Y")
    page.wait_for_url("**/attention?period=yesterday#*")
    yield "Y"


def costs(page, recorded):
    page.goto(page.url.split("/p/")[0] + "/p/default/costs")
    page.locator("[data-connection=live]").wait_for()
    page.keyboard.press("M")
    page.wait_for_url("**/costs?by=model")
    yield "M"


def calls(page, recorded):
    page.goto(page.url.split("/p/")[0] + "/p/default/calls?since=all")
    page.keyboard.press("S")
    page.wait_for_url("**/loops/*#session-tool-*")
    yield "S"
