"""Adds to every live page what stands around it: what asks for its reader, and what runs or waits now."""

from dataclasses import dataclass

from dashboard.live.panel import Panel
from dashboard.live.viewer import DirtyPanels, Page
from dashboard.shared.attention import Counts
from dashboard.shell.queries import live_now
from recorder.pubsub.invalidation import Invalidation

LIVE_NOW = Panel("shell/live", live_now, min_interval_ms=1000)


def attention_of(project: int) -> Panel:
    """Return what counts in a project's navigation what asks for a person; its keys are people."""
    return Panel("shell/attention", Counts(project), min_interval_ms=1000)


@dataclass(frozen=True, slots=True)
class ShellPage:
    """A page and its shell, and who reads it."""

    page: Page
    user: int

    @property
    def project(self) -> int:
        return self.page.project

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        shell: DirtyPanels = []
        if touched is None or touched.sessions or self.user in touched.people:
            shell.append((attention_of(self.project), [self.user]))
        if touched is None or touched.sessions:
            shell.append((LIVE_NOW, [self.project]))
        return [*self.page.dirty_panels(touched), *shell]


def with_shell(page: Page, user: int) -> Page:
    """Return the page as its viewer sees it."""
    return ShellPage(page, user)
