"""One pass before and after: what was claimed, sent and put in, and what it changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import Left

from dashboard.compaction_analysis.bars import Bar, bars
from dashboard.compaction_analysis.claim_check import Verdict, verdict
from dashboard.compaction_analysis.payback import Call
from dashboard.compaction_analysis.queries import bodies
from dashboard.compaction_analysis.queries.passes import Pass, listed, passes, recorded, shown
from dashboard.compaction_analysis.queries.repeated_calls import Repeats, repeats
from dashboard.pages.compactions.chart import Chart, chart
from dashboard.pages.compactions.flow_diagram import Flow, flow
from dashboard.web import links
from recorder.models import Compaction, ModelConfig

ORIGINALS_MAX = 6  # that are named
TEXT = 16_000  # characters of a summary that are shown at once


@dataclass(frozen=True, slots=True)
class Summary:
    """The text that stands for what was summarised, as the runtime told it."""

    text: str
    size: int
    url: str  # of the whole, "" if nothing is missing

    @property
    def words(self) -> int:
        return len(self.text.split())


@dataclass(frozen=True, slots=True)
class Content:
    """What a pass claimed and what became of the context; root of the panel compactions/content."""

    found: Pass
    verdict: Verdict
    sent: Flow | None
    block: Flow | None
    summary: Summary | None
    at: int  # its place among the session's, from 1
    of: int
    previous: str
    next: str

    @property
    def bars(self) -> Sequence[Bar]:
        return bars(self.found.claim, self.sent.comparison if self.sent else None)

    @property
    def session_title(self) -> str:
        session = self.found.row.loop.session
        return session.title or session.session_id


@dataclass(frozen=True, slots=True)
class Original:
    """A loop that still holds what was compacted."""

    number: int
    url: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What a pass changed; root of the panel compactions/effect."""

    found: Pass
    chart: Chart | None
    repeats: Repeats
    is_content_known: bool

    @property
    def prompt_before(self) -> int | None:
        return self.found.payback.before.prompt if self.found.payback.before else None

    @property
    def prompt_after(self) -> int | None:
        return self.found.payback.first.prompt if self.found.payback.first else None

    @property
    def before_nano(self) -> int | None:
        return _nano(self.found.payback.before)

    @property
    def first_nano(self) -> int | None:
        return _nano(self.found.payback.first)

    @property
    def unpriced(self) -> int:
        """Say whether a price is what is missing: 1 if so."""
        return int(self.found.payback.rate is None)

    @property
    def originals(self) -> list[Original]:
        """Return the newest loops whose messages were compacted: nothing of them is gone."""
        until = self.found.line.index(self.found.base.id) + 1
        found = self.found
        asked = {call.loop for call in found.calls if call.event < found.position}
        loops = [pk for pk in found.line[:until] if pk in asked or pk == found.base.id][-ORIGINALS_MAX:]
        return [
            Original(found.numbers[pk], links.loop(found.slug, found.base.session_id, pk)) for pk in loops
        ]


def contents(pks: Collection[int]) -> Mapping[int, Content]:
    """Return what pages show of passes. Thirteen queries at most for one."""
    return {each.pk: _content(each) for each in passes(shown(listed().filter(pk__in=pks)))}


def effects(pks: Collection[int]) -> Mapping[int, Effect]:
    """Return what passes changed. Twelve queries at most for one."""
    return {each.pk: _effect(each) for each in passes(shown(listed().filter(pk__in=pks)))}


def is_of(project: int, session: int, pk: int) -> bool:
    """Say whether a pass is one of this session's."""
    return listed(project).filter(loop__session=session, pk=pk).exists()


def told_by(project: int, event: int) -> str | None:
    """Return where the pass is that an event tells of; an imported block may tell of a recorded one."""
    tells = Q(start_event=event) | Q(end_event=event)
    rows = Compaction.objects.filter(tells, loop__session__project=project)
    row = rows.select_related("loop__session__project").first()
    if row is None:
        return None
    passed = listed(project).filter(pk=row.pk).values_list("pk", flat=True).first() or recorded(row)
    return links.compaction(row.loop.session.project.slug, row.loop.session_id, passed)


def _content(found: Pass) -> Content:
    read = bodies.bodies(found)
    before, after, at, of = _neighbours(found)
    return Content(
        found=found,
        verdict=verdict(
            found.claim, read.sent, found.row.state, has_next=bool(found.after), pruned=read.pruned
        ),
        sent=flow(read.sent) if read.sent else None,
        block=flow(read.block) if read.block else None,
        summary=_summary(found),
        at=at,
        of=of,
        previous=before,
        next=after,
    )


def _effect(found: Pass) -> Effect:
    sent = bodies.bodies(found).sent
    return Effect(
        found=found,
        chart=chart(
            found.calls, found.position, found.drops, found.numbers, _limit(found), found.claim.tokens_before
        ),
        repeats=repeats(found, sent),
        is_content_known=sent is not None,
    )


def _nano(call: Call | None) -> int | None:
    return round(call.input_nano) if call and call.input_nano is not None else None


def _neighbours(found: Pass) -> tuple[str, str, int, int]:
    """Return where the passes before and after are, its place among them and how many there are."""
    mine = listed().filter(loop__session=found.base.session_id)
    counted = mine.aggregate(at=Count("pk", filter=Q(pk__lte=found.pk)), of=Count("pk"))
    before = mine.filter(pk__lt=found.pk).order_by("-pk").values_list("pk", flat=True).first()
    after = mine.filter(pk__gt=found.pk).order_by("pk").values_list("pk", flat=True).first()
    to = [links.compaction(found.slug, found.base.session_id, pk) if pk else "" for pk in (before, after)]
    return to[0], to[1], counted["at"], counted["of"]


def _summary(found: Pass) -> Summary | None:
    if not found.summary_size:
        return None
    rows = Compaction.objects.filter(pk=found.pk).values_list(Left("summary", TEXT), flat=True)
    is_cut = found.summary_size > TEXT and found.row.end_event is not None
    url = links.event_text(found.slug, found.row.end_event or 0, "summary") if is_cut else ""
    return Summary(rows.first() or "", found.summary_size, url)


def _limit(found: Pass) -> int | None:
    """Return how much the model takes, as the loop's config says."""
    config = ModelConfig.objects.filter(pk=found.base.config_id or 0).only("snapshot").first()
    snapshot = config.snapshot if config else None
    size = snapshot.get("context_window") if isinstance(snapshot, dict) else None
    return size if type(size) is int and size > 0 else None
