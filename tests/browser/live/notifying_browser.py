"""A browser with two tabs that shows notifications, and events that cause them."""

from contextlib import contextmanager, nullcontext
from itertools import count

from tests.dashboard.repeated_calls import repeating
from tests.support import build
from tests.support.wait import LONGEST_S, until

LOOKS = "/p/default/attention"
CHANNEL, NEWS = "**/api/v1/lifecycle", "**/notifications/now?*"
# Focus as a reader has it: without this, after each page that loads, a tab believes that it is in front.
REAL_FOCUS = {"enabled": False}
LISTEN = """() => {
  const show = registration.showNotification.bind(registration);
  self.notified = [];
  registration.showNotification = (title, options) => {
    notified.push({title, ...options});
    return show(title, options);
  };
  clients.openWindow = async (url) => { self.opened = url; };
  WindowClient.prototype.focus = async function () { self.focused = this.url; };
}"""
HEARD = """async (last) => {
  while (!notified.some(({tag}) => tag == last)) await new Promise((passed) => setTimeout(passed, 10));
  return notified.splice(0);
}"""
CLICK = """async (tag) => {
  self.opened = self.focused = null;
  const [notification] = await registration.getNotifications({tag});
  dispatchEvent(new NotificationEvent("notificationclick", {notification}));
  while (!self.opened && !self.focused) await new Promise((passed) => setTimeout(passed, 10));
  return [self.opened, self.focused];
}"""
COUNT = "async (tag) => (await registration.getNotifications({tag})).length"
GONE = """async (tag) => {
  while ((await registration.getNotifications({tag})).length)
    await new Promise((passed) => setTimeout(passed, 10));
}"""
SHOWN = """async (last) => {
  for (;;) {
    const shown = await (await navigator.serviceWorker.ready).getNotifications();
    if (shown.some(({tag}) => tag == last)) return shown.map(({body}) => body);
    await new Promise((passed) => setTimeout(passed, 10));
  }
}"""
POST = "async (notes) => (await navigator.serviceWorker.ready).active.postMessage(notes)"
LOCKED = """async (wanted) => {
  for (;;) {
    const {held, pending} = await navigator.locks.query();
    if (`${held.length} held, ${pending.length} wait` == wanted) return;
    await new Promise((passed) => setTimeout(passed, 10));
  }
}"""
numbers = count()


def asks(loop):
    return build.ours("ApprovalRequested", loop, kind="command", command="rm")


def ends(outcome):
    return lambda loop: [build.agent_start(loop), {**build.agent_end(loop), "outcome": outcome}]


# Events of an agent for each row of the policy; the last list causes the notification.
LINES = {
    "approval-requested": [lambda loop: [build.agent_start(loop), asks(loop)]],
    "turn-finished, finish": [ends("completed")],
    "turn-finished, finish, pending approval": [
        lambda loop: [build.agent_start(loop), asks(loop)],
        lambda loop: [build.agent_end(loop)],
    ],
    "turn-finished, error": [ends("failed")],
    "turn-finished, abort": [ends("cancelled")],
    "waste-found": [lambda loop: repeating(loop, 3), lambda loop: repeating(loop, 1, first=3)],
    "turn-started": [lambda loop: [build.agent_start(loop)]],
}


class NotifyingBrowser:
    """One browser with its tabs and its service worker."""

    def __init__(self, browser, server, state):
        self.server = server
        self.context = browser.new_context(storage_state=state, permissions=["notifications"])
        self.context.set_default_timeout(1000 * LONGEST_S)
        self.elsewhere = self.tab("about:blank")
        self.tabs = [self.tab(LOOKS, follows=True), self.tab(LOOKS)]
        if not self.context.service_workers:
            self.context.wait_for_event("serviceworker")
        self.worker = self.context.service_workers[0]
        self.worker.evaluate(LISTEN)
        self.elsewhere.bring_to_front()

    def tab(self, url, *, follows=False):
        """Open a tab; with `follows` wait until it is connected to the lifecycle channel."""
        page = self.context.new_page()
        with page.expect_response(CHANNEL) if follows else nullcontext():
            page.goto(url if ":" in url else self.server.url + url)
        self.context.new_cdp_session(page).send("Emulation.setFocusEmulationEnabled", REAL_FOCUS)
        return page

    @contextmanager
    def showing(self, url, *, in_front):
        """Show a page in another tab during the block, in front or behind."""
        page = self.tab(url)
        (page if in_front else self.elsewhere).bring_to_front()
        yield page
        page.close()
        self.elsewhere.bring_to_front()

    def agent_does(self, *lines, loop=None):
        """Send events of a new session and return its loop's URL."""
        loop = loop or f"n{next(numbers)}.a.1"
        self.server.agent().send(*[event for each in lines for event in each(loop)])
        (item,) = self.server.read(f"/api/v1/loops?loop_id={loop}")["items"]
        return item["url"]

    def until_alarm(self, loop):
        """Wait until the waste of a loop, which is found behind the writer, is an alarm."""
        session = loop.partition(".")[0]
        until(lambda: self.server.read(f"/api/v1/waste?alarms=1&session={session}")["items"])

    def notifications(self):
        """Return the notifications since the last call, in order."""
        mark = session_of(self.agent_does(ends("failed")))
        return [each for each in self.worker.evaluate(HEARD, mark) if each["tag"] != mark]


def session_of(url):
    return url.partition("/loops/")[0]


def answering(**instead):
    """Return a route handler that replaces some fields of the server's response."""

    def answer(route):
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **instead})

    return answer


@contextmanager
def another(browser, state, permissions=("notifications",)):
    """Open another browser during the block."""
    context = browser.new_context(storage_state=state, permissions=permissions)
    context.set_default_timeout(1000 * LONGEST_S)
    yield context
    context.close()
