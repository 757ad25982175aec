"""Database queries of the settings page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Count, Q, Sum
from django.utils import timezone

from recorder.models import AccessToken, Note, Project, Pruning, ScoreDefinition, Session
from recorder.notes.definitions import takes

TOKENS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Token:
    """One access token; `key` is its public part."""

    key: str
    name: str
    scopes: str
    made_by: str
    made_at: datetime
    used_at: datetime | None
    used_from: str  # the address; "" for those who may not see it
    expires_at: datetime | None
    revoked_at: datetime | None
    is_expired: bool
    is_replaced: bool  # has a successor, beside which the token works for a day

    @property
    def is_valid(self) -> bool:
        return self.revoked_at is None and not self.is_expired


@dataclass(frozen=True, slots=True)
class Recorded:
    """Numbers of records of the project."""

    sessions: int
    loops: int
    turns: int
    events: int
    demo_sessions: int


def tokens(project: Project, *, with_addresses: bool) -> list[Token]:
    """Return the project's tokens: valid ones first, then newest first."""
    rows = AccessToken.objects.filter(project=project).select_related("created_by").order_by("-pk")
    now = timezone.now()
    shown = [
        Token(
            row.key,
            row.name,
            row.scopes.replace(",", ", "),
            row.created_by.get_username() if row.created_by else "",
            row.created_at,
            row.last_used_at,
            row.last_used_from if with_addresses else "",
            row.expires_at,
            row.revoked_at,
            row.expires_at is not None and row.expires_at <= now,
            row.replaced_by_id is not None,
        )
        for row in rows[:TOKENS_SHOWN]
    ]
    return sorted(shown, key=lambda token: not token.is_valid)


def is_token(project: Project, key: str) -> bool:
    """Whether the project has a token with this public part."""
    return AccessToken.objects.filter(project=project, key=key).exists()


def recorded(project: Project) -> Recorded:
    """Return the numbers of records. One query."""
    sums = Session.objects.filter(project=project).aggregate(
        sessions=Count("pk"),
        loops_=Sum("loops", default=0),
        turns_=Sum("turns", default=0),
        events_=Sum("events", default=0),
        demo=Count("pk", filter=Q(is_demo=True)),
    )
    return Recorded(sums["sessions"], sums["loops_"], sums["turns_"], sums["events_"], sums["demo"])


def pruned(project: Project) -> Pruning | None:
    """Return the last pruning, None if there was none."""
    return Pruning.objects.filter(project=project).order_by("-pk").first()


def database() -> str:
    """Return the database's name and version."""
    numbers = connection.get_database_version()
    return f"{connection.display_name} {'.'.join(str(number) for number in numbers)}"


@dataclass(frozen=True, slots=True)
class DefinedScore:
    """A definition with the number of its scores, as the settings show it."""

    name: str
    takes: str
    targets: str
    sources: str
    given: int
    meaning: str
    kind: str
    least: str
    most: str
    categories: Sequence[str]


def defined_scores(project: Project) -> Sequence[DefinedScore]:
    """Return the definitions of a project by name. Two queries."""
    scores = Note.objects.filter(project=project, kind=Note.Kind.SCORE)
    counts = dict(scores.order_by().values_list("name").annotate(n=Count("pk")))
    words = {"human": "people", "code": "code", "judge": "judges"}
    return [
        DefinedScore(
            found.name,
            takes(found),
            ", ".join(found.targets) or "all",
            ", ".join(words[source] for source in found.sources) or "all",
            counts.get(found.name, 0),
            found.meaning,
            found.kind,
            _bound(found.least),
            _bound(found.most),
            found.categories,
        )
        for found in ScoreDefinition.objects.filter(project=project).order_by("name")
    ]


def _bound(value: float | None) -> str:
    """Return a bound as a form shows it, with all its digits: what is not changed is sent back unchanged."""
    return "" if value is None else repr(value).removesuffix(".0")
