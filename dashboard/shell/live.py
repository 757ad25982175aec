"""Live panels of the shell, added to every live page: live sessions and the attention count."""

from dataclasses import dataclass

from dashboard.live.panel import Panel
from dashboard.live.viewer import DirtyPanels, LivePage
from dashboard.shared.queries.attention import Counts
from dashboard.shell.queries import live_now
from recorder.pubsub.invalidation import Invalidation

LIVE_NOW = Panel("shell/live", live_now, min_interval_ms=1000)


def attention_of(project: int) -> Panel:
    """Return the panel of the attention count in a project's navigation; its keys are users."""
    return Panel("shell/attention", Counts(project), min_interval_ms=1000)


@dataclass(frozen=True, slots=True)
class ShellPage:
    """A page with its shell, opened by one user."""

    page: LivePage
    user: int

    @property
    def project(self) -> int:
        return self.page.project

    def dirty_panels(self, touched: Invalidation | None) -> DirtyPanels:
        shell: DirtyPanels = []
        if touched is None or touched.sessions or touched.wastes or self.user in touched.people:
            shell.append((attention_of(self.project), [self.user]))
        if touched is None or touched.sessions:
            shell.append((LIVE_NOW, [self.project]))
        return [*self.page.dirty_panels(touched), *shell]


def with_shell(page: LivePage, user: int) -> LivePage:
    """Return the page with its shell."""
    return ShellPage(page, user)
