"""One compaction: reported counts, requests before and after, summary, and effect on later calls."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import Left

from dashboard.compaction_analysis.bars import Bar, bars
from dashboard.compaction_analysis.claim_check import Verdict, verdict
from dashboard.compaction_analysis.payback import Call
from dashboard.compaction_analysis.queries import bodies
from dashboard.compaction_analysis.queries.passes import CompactionEffect, listed, passes, recorded, shown
from dashboard.compaction_analysis.queries.repeated_calls import Repeats, repeats
from dashboard.pages.compactions.chart import Chart, chart
from dashboard.pages.compactions.flow_diagram import Flow, flow
from dashboard.web import links
from recorder.models import Compaction, ModelConfig

ORIGINALS_MAX = 6  # maximum number of links
TEXT = 16_000  # characters of a summary on the page


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary text, as the runtime reported it."""

    text: str
    size: int
    url: str  # of the full text, "" if all is shown

    @property
    def words(self) -> int:
        return len(self.text.split())


@dataclass(frozen=True, slots=True)
class Content:
    """Reported counts and comparison of the contexts; root of the panel compactions/content."""

    found: CompactionEffect
    verdict: Verdict
    sent: Flow | None
    block: Flow | None
    summary: Summary | None
    at: int  # its number in the session, from 1
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
    """A loop that still has the compacted messages."""

    number: int
    url: str


@dataclass(frozen=True, slots=True)
class Effect:
    """Effect of a compaction on later calls; root of the panel compactions/effect."""

    found: CompactionEffect
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
        """Return 1 if amounts are unknown because a price is missing, else 0."""
        return int(self.found.payback.rate is None)

    @property
    def originals(self) -> list[Original]:
        """Return the newest loops whose messages were compacted; their pages still show all of them."""
        until = self.found.line.index(self.found.base.id) + 1
        effect = self.found
        loops_with_calls = {call.loop for call in effect.calls if call.event < effect.position}
        loops = [pk for pk in effect.line[:until] if pk in loops_with_calls or pk == effect.base.id][
            -ORIGINALS_MAX:
        ]
        return [
            Original(effect.numbers[pk], links.loop(effect.slug, effect.base.session_id, pk)) for pk in loops
        ]


def contents(pks: Collection[int]) -> Mapping[int, Content]:
    """Return the content panels. Thirteen queries at most for one."""
    return {item.pk: _content(item) for item in passes(shown(listed().filter(pk__in=pks)))}


def effects(pks: Collection[int]) -> Mapping[int, Effect]:
    """Return the effect panels. Twelve queries at most for one."""
    return {item.pk: _effect(item) for item in passes(shown(listed().filter(pk__in=pks)))}


def is_of(project: int, session: int, pk: int) -> bool:
    """Whether a compaction belongs to the session."""
    return listed(project).filter(loop__session=session, pk=pk).exists()


def url_of_event(project: int, event: int) -> str | None:
    """Return the URL of the compaction that an event started or ended; of the recorded one for a block."""
    of_event = Q(start_event=event) | Q(end_event=event)
    rows = Compaction.objects.filter(of_event, loop__session__project=project)
    row = rows.select_related("loop__session__project").first()
    if row is None:
        return None
    pk = listed(project).filter(pk=row.pk).values_list("pk", flat=True).first() or recorded(row)
    return links.compaction(row.loop.session.project.slug, row.loop.session_id, pk)


def _content(effect: CompactionEffect) -> Content:
    read = bodies.bodies(effect)
    before, after, at, of = _neighbours(effect)
    return Content(
        found=effect,
        verdict=verdict(
            effect.claim, read.sent, effect.state, has_next=bool(effect.after), pruned=read.pruned
        ),
        sent=flow(read.sent) if read.sent else None,
        block=flow(read.block) if read.block else None,
        summary=_summary(effect),
        at=at,
        of=of,
        previous=before,
        next=after,
    )


def _effect(effect: CompactionEffect) -> Effect:
    sent = bodies.bodies(effect).sent
    return Effect(
        found=effect,
        chart=chart(
            effect.calls,
            effect.position,
            effect.drops,
            effect.numbers,
            _limit(effect),
            effect.claim.tokens_before,
        ),
        repeats=repeats(effect, sent),
        is_content_known=sent is not None,
    )


def _nano(call: Call | None) -> int | None:
    return round(call.input_nano) if call and call.input_nano is not None else None


def _neighbours(effect: CompactionEffect) -> tuple[str, str, int, int]:
    """Return the URLs of the neighbours, its number and the number of compactions in the session."""
    in_session = listed().filter(loop__session=effect.base.session_id)
    counted = in_session.aggregate(at=Count("pk", filter=Q(pk__lte=effect.pk)), of=Count("pk"))
    before = in_session.filter(pk__lt=effect.pk).order_by("-pk").values_list("pk", flat=True).first()
    after = in_session.filter(pk__gt=effect.pk).order_by("pk").values_list("pk", flat=True).first()
    to = [links.compaction(effect.slug, effect.base.session_id, pk) if pk else "" for pk in (before, after)]
    return to[0], to[1], counted["at"], counted["of"]


def _summary(effect: CompactionEffect) -> Summary | None:
    if not effect.summary_size:
        return None
    rows = Compaction.objects.filter(pk=effect.pk).values_list(Left("summary", TEXT), flat=True)
    is_cut = effect.summary_size > TEXT and effect.row.end_event is not None
    url = links.event_text(effect.slug, effect.row.end_event or 0, "summary") if is_cut else ""
    return Summary(rows.first() or "", effect.summary_size, url)


def _limit(effect: CompactionEffect) -> int | None:
    """Return the context window in tokens, from the config of the loop."""
    config = ModelConfig.objects.filter(pk=effect.base.config_id or 0).only("snapshot").first()
    snapshot = config.snapshot if config else None
    size = snapshot.get("context_window") if isinstance(snapshot, dict) else None
    return size if type(size) is int and size > 0 else None
