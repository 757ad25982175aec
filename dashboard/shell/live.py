"""Adds to every live page what stands around it: the list of sessions that run or wait now."""

from dataclasses import dataclass

from dashboard.panels import Panel
from dashboard.shell.queries import live_now
from dashboard.viewer import Page, Wants
from recorder.notify import Bell

LIVE_NOW = Panel("shell/live", live_now, every_ms=1000)


@dataclass(frozen=True, slots=True)
class ShellPage:
    """A page and its shell."""

    page: Page

    @property
    def project(self) -> int:
        return self.page.project

    def wants(self, bell: Bell | None) -> Wants:
        shell: Wants = [(LIVE_NOW, [self.project])] if bell is None or bell.sessions else []
        return [*self.page.wants(bell), *shell]


def with_shell(page: Page) -> Page:
    """Return the page as its viewer sees it."""
    return ShellPage(page)
