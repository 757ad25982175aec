"""Filter of sessions: the conditions that the list of sessions and the read API share."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BigIntegerField, Case, Exists, F, OuterRef, Q, QuerySet, When
from django.db.models.functions import Coalesce, Left
from django.db.models.lookups import Exact
from django.utils import timezone

from dashboard.shared.queries.config_labels import chips
from dashboard.shared.session_state import OPEN, live, stale
from dashboard.shared.time_functions import microseconds
from dashboard.web.keyset import Order
from recorder.core.content.labels import label_text
from recorder.models import LoopRecord, ModelConfig, Session, SessionLabel, ToolCall, Turn

STATUSES = (*OPEN, "completed", "rejected", "aborted")
SILENT = ("stale", *OPEN)  # states of an unfinished session, besides "waiting"
OUTCOMES = ("completed", "failed", "cancelled", "rejected", "limit", "aborted")
FAILED = ("failed", "rejected", "aborted")  # ended without a result, and no user stopped them
WORDS_MAX = 8
ID_BEGINS = 8  # characters of a session id, at least, that find it
METADATA = "metadata."  # parameters are metadata.NAME=VALUE
METADATA_MAX, LABEL_MAX = 10, 512  # names in a query string, characters of one
LABELS_MAX = 1_000  # configs of a project whose labels a filter compares
SORTS = {
    "-activity": Order("last_event_at"),
    "activity": Order("last_event_at", newest_first=False),
    "-created": Order("created_at"),
    "created": Order("created_at", newest_first=False),
    "-cost": Order("cost_nano"),
    "cost": Order("cost_nano", newest_first=False),
}
HOLDS = {  # value of `has`, and the column that counts it
    "error": "errors",
    "parallel": "groups",
    "sub-agent": "sub_agents",
    "compaction": "compactions",
    "waiting": "waiting",
}
CACHED = F("cache_read_tokens") + F("cache_write_tokens")
TOKENS = Case(  # as `dashboard.shared.usage_bar.kinds` adds them up
    When(
        unreconciled=0,
        uncached_tokens__isnull=False,
        visible_tokens__isnull=False,
        then=CACHED + F("uncached_tokens") + F("visible_tokens") + F("reasoning_tokens"),
    ),
    When(
        reasoning_tokens__gt=F("output_tokens"),
        then=CACHED + F("input_tokens") + F("output_tokens") + F("reasoning_tokens"),
    ),
    default=CACHED + F("input_tokens") + F("output_tokens"),
    output_field=BigIntegerField(),
)
DURATION = microseconds("created_at", Coalesce("ended_at", "last_event_at"))  # so far, while it is open
# Numbers without an index: the sessions of the period are read and sorted.
SORTS |= {
    f"{sign}{name}": Order(name, newest_first=bool(sign), number=number)
    for name, number in (("tokens", TOKENS), ("duration", DURATION), ("errors", F("errors")))
    for sign in ("-", "")
}


@dataclass(frozen=True, slots=True)
class Lasted:
    """Minimum duration, from start to end or last event, or until `now` while it runs."""

    least: timedelta
    now: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions on sessions; all must hold. A tuple matches any of its values; an empty one is ignored."""

    q: str = ""  # each word in title, agent or first prompt, case-insensitive, or an id
    recorded_status: tuple[str, ...] = ()  # the record's, whether it is stale or not
    status: tuple[str, ...] = ()  # as shown: "running" and "pending" are live ones, "stale" the others
    outcome: tuple[str, ...] = ()
    state: tuple[str, ...] = ()  # stale, a live status or an outcome, as the list's glyph shows it
    stale: bool | None = None
    agent: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    config: tuple[str, ...] = ()  # keys, config ids or labels
    source: tuple[str, ...] = ()
    tool: tuple[str, ...] = ()  # names; one of them was called
    tag: tuple[str, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()  # name and value; of each name one value must match
    has: tuple[str, ...] = ()  # keys of HOLDS; all must hold
    since: datetime | None = None  # sessions that overlap since..until
    until: datetime | None = None
    now: datetime | None = None  # when sessions are live or stale; None is the present
    min_cost: int | None = None  # nano-dollars
    min_tokens: int | None = None
    lasted: Lasted | None = None
    is_running: bool = False  # and live, as the next
    is_waiting: bool = False
    is_stale: bool = False
    has_failed: bool = False
    has_groups: bool = False


def metadata_names(params: Iterable[str]) -> list[str]:
    """Return the names of metadata among the names of parameters, at most `METADATA_MAX`."""
    names = [name.removeprefix(METADATA) for name in params if name.startswith(METADATA)]
    return [name for name in names if name and "\0" not in name and len(name) <= LABEL_MAX][:METADATA_MAX]


def matching(project: int, wanted: Wanted) -> QuerySet[Session]:
    """Return the matching sessions, unordered."""
    sessions = Session.objects.filter(_plain(project, wanted))
    for word in wanted.q.split()[:WORDS_MAX]:
        sessions = sessions.filter(holds(word))
    if wanted.model or wanted.config:
        configs = _configs(project, wanted)
        began = Q(Exists(_loops().filter(config__in=configs)))
        sessions = sessions.filter(_or_switched(project, began, Q(config__in=configs)))
    if wanted.agent:
        began = Q(agent_id__in=wanted.agent)
        sessions = sessions.filter(_or_switched(project, began, Q(agent_id__in=wanted.agent)))
    if wanted.tool:
        calls = ToolCall.objects.filter(loop__session=OuterRef("pk"), tool_name__in=wanted.tool)
        sessions = sessions.filter(Exists(calls))
    for name, values in _labels(wanted).items():
        labelled = SessionLabel.objects.filter(project=project, name=name, value__in=values)
        sessions = sessions.filter(pk__in=labelled.values("session"))
    if wanted.min_tokens is not None:
        sessions = sessions.alias(tokens=TOKENS).filter(tokens__gte=wanted.min_tokens)
    if wanted.lasted:
        sessions = sessions.filter(_took(wanted.lasted))
    return sessions


def _labels(wanted: Wanted) -> dict[str, list[str]]:
    """Return the values of each label that a session must have, as the index holds them."""
    labels: dict[str, list[str]] = {}
    for tag in wanted.tag:
        labels.setdefault("tag", []).append(label_text(tag))
    for name, value in wanted.metadata:
        labels.setdefault(f"metadata.{label_text(name)}", []).append(label_text(value))
    return labels


def has_failed() -> Q:
    """Return the condition that a session failed, for the list's view and tile and for Attention.

    Its outcome is one of `FAILED`, no approval is open, and it is no sub-agent, which reports to its parent.
    """
    return Q(outcome__in=FAILED) & is_settled_root()


def is_settled_root() -> Q:
    """Return the condition that a session is no sub-agent and has no open approval."""
    sub_agents = LoopRecord.objects.filter(pk=OuterRef("head"), role="sub_agent")
    return Q(waiting=0) & ~Q(Exists(sub_agents))  # a join would read the loop of every session


def _configs(project: int, wanted: Wanted) -> QuerySet[ModelConfig]:
    configs = ModelConfig.objects.filter(project=project)
    if wanted.model:
        configs = configs.filter(model__in=wanted.model)
    if wanted.config:
        first = ModelConfig.objects.filter(project=project).values_list("pk", flat=True)[:LABELS_MAX]
        shown = chips(list(first))
        labelled = [pk for pk, chip in shown.items() if chip.label in wanted.config]
        named = Q(key__in=wanted.config) | Q(config_id__in=wanted.config) | Q(pk__in=labelled)
        configs = configs.filter(named)
    return configs


def _or_switched(project: int, began: Q, answered: Q) -> Q:
    """Return `began`, or that a turn was `answered` so after a loop had changed its config or its agent.

    Such loops have an index of their own. A project without any keeps the condition that its indexes serve.
    """
    switched = LoopRecord.objects.filter(session__project=project, has_switched=True)
    if not switched.exists():
        return began
    turns = Turn.objects.filter(answered, state="done", loop__in=switched)
    return began | Q(pk__in=turns.values("loop__session"))


def _loops() -> QuerySet[LoopRecord]:
    return LoopRecord.objects.filter(session=OuterRef("pk"))


def _plain(project: int, wanted: Wanted) -> Q:
    """Return the conditions on the session's own columns."""
    now = wanted.now or timezone.now()
    where = Q(project=project)
    for column, values in (
        ("status", wanted.recorded_status),
        ("outcome", wanted.outcome),
        ("source", wanted.source),
    ):
        if values:
            where &= Q(**{f"{column}__in": values})
    where &= _state_conditions(wanted, now)
    if wanted.since:
        where &= Q(last_event_at__gte=wanted.since)
    if wanted.until:
        # A session whose start is dated in the future began when it arrived, not after its last event.
        where &= Q(created_at__lte=wanted.until) | Q(last_event_at__lte=wanted.until)
    if wanted.min_cost is not None:
        where &= Q(cost_nano__gte=wanted.min_cost)
    for word in wanted.has:
        where &= Q(**{f"{HOLDS[word]}__gt": 0})
    for is_set, condition in (
        (wanted.is_running, Q(status="running") & live(now)),
        (wanted.is_waiting, Q(waiting__gt=0) & live(now)),
        (wanted.is_stale, stale(now)),
        (wanted.has_failed, has_failed()),
        (wanted.has_groups, Q(groups__gt=0)),
    ):
        if is_set:
            where &= condition
    return where


def _state_conditions(wanted: Wanted, now: datetime) -> Q:
    """Return the conditions on the states as they are shown at `now`."""
    where = Q()
    if wanted.status:
        where &= has_status(wanted.status, now)
    if wanted.state:
        outcomes = [state for state in wanted.state if state not in SILENT]
        where &= has_status(tuple(set(wanted.state) - set(outcomes)), now) | Q(outcome__in=outcomes)
    if wanted.stale is not None:
        where &= stale(now) if wanted.stale else ~stale(now)
    return where


def has_status(shown: tuple[str, ...], now: datetime) -> Q:
    """Return the condition that a session is shown with one of these statuses."""
    open_ones = [status for status in shown if status in OPEN]
    where = Q(status__in=[status for status in shown if status not in SILENT])
    if open_ones:
        where |= Q(status__in=open_ones) & live(now)
    return where | stale(now) if "stale" in shown else where


def _took(lasted: Lasted) -> Q:
    end = F("created_at") + lasted.least
    ended = Q(ended_at__gte=end) | Q(ended_at__isnull=True, last_event_at__gte=end)
    runs = Q(status__in=OPEN) & live(lasted.now)
    return (runs & Q(created_at__lte=lasted.now - lasted.least)) | (~runs & ended)


def holds(word: str) -> Q:
    """Return the condition that title, agent or a prompt of a session contains a text, or its id is that."""
    where, prompts = has_id(word), Q()
    # SQLite folds case in ASCII only: other text is searched as typed, in lower, upper and title case.
    for text in {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}:
        where |= Q(title__icontains=text) | Q(agent_id__icontains=text)
        prompts |= Q(title__icontains=text)
    # A session's title is its first prompt, unless it was set; then its loops' titles have the prompts.
    in_prompts = Exists(_loops().filter(prompts))
    return where | Q(in_prompts, title_given=True)


def has_id(word: str) -> Q:
    """Return the condition that a session's id is a text, or begins with one of `ID_BEGINS` characters.

    Parts of ids are not found: ids are random, so a short text is in many of them.
    """
    if len(word) < ID_BEGINS:
        return Q(session_id=word)
    # LIKE would ignore case on SQLite only.
    return Q(Exact(Left(F("session_id"), len(word)), word))
