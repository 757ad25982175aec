"""Database queries of the page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from dashboard.pages.connect.senders import Wait, wait_of
from recorder.journal.spans import without_record
from recorder.models import AccessToken, Refusal, Session

NAMES = 12  # of attributes that are shown
NEWEST = 20  # traces whose attributes are read


@dataclass(frozen=True, slots=True)
class Unrecorded:
    """Spans of a token that changed no record: how many, and the names of attributes of the newest."""

    spans: int
    names: Sequence[str]

    @property
    def shown(self) -> Sequence[str]:
        return self.names[:NAMES]

    @property
    def others(self) -> int:
        """Names that are not shown."""
        return len(self.names[NAMES:])


@dataclass(frozen=True, slots=True)
class Arrival:
    """Arrivals since a token was made: the newest session and refusal, each None while there is none."""

    token: AccessToken
    session: Session | None
    refusal: Refusal | None
    unrecorded: Unrecorded | None = None  # None if there is a session, or no such span

    @property
    def slug(self) -> str:
        return self.token.project.slug

    @property
    def wait(self) -> Wait:
        return wait_of(self.token.name)

    @property
    def is_refused(self) -> bool:
        """Whether the newest that came was refused."""
        refusal, session = self.refusal, self.session
        return refusal is not None and (session is None or refusal.at > session.last_received_at)

    @property
    def is_of_other_token(self) -> bool:
        """Whether a request was refused that came with another token of the project."""
        return self.refusal is not None and self.refusal.key not in ("", self.token.key)

    @property
    def has_text(self) -> bool:
        """Whether prompts and answers were sent: the session has a title or an answer."""
        return self.session is not None and bool(self.session.title)

    @property
    def has_tokens(self) -> bool:
        return self.session is not None and bool(self.session.input_tokens or self.session.output_tokens)

    @property
    def has_tools(self) -> bool:
        return self.session is not None and bool(self.session.tool_calls)


def token_of(project: int, given: str) -> int | None:
    """Return the primary key of a project's token, None if it is not one of its."""
    if not given.isdecimal() or len(given) > 18:
        return None
    keys = AccessToken.objects.filter(project=project, pk=int(given)).values_list("pk", flat=True)
    return keys.first()


def made(project: int, token: str) -> int | None:
    """Return the primary key of a token that was just created; None without one."""
    key = token.split("_")[1] if token else ""
    return AccessToken.objects.filter(project=project, key=key).values_list("pk", flat=True).first()


def arrivals(tokens: Collection[int]) -> Mapping[int, Arrival]:
    """Return what came since each token was made, of its project.

    One query, and two for each token; without a session one or two more.
    """
    arrival_of = {}
    for token in AccessToken.objects.filter(pk__in=tokens).select_related("project"):
        new = Session.objects.filter(project=token.project_id, last_received_at__gte=token.created_at)
        refused = Refusal.objects.filter(project=token.project_id, at__gte=token.created_at)
        session = new.order_by("-last_received_at", "-pk").first()
        refusal = refused.order_by("-at", "-pk").first()
        arrival_of[token.pk] = Arrival(token, session, refusal, None if session else _unrecorded_spans(token))
    return arrival_of


def _unrecorded_spans(token: AccessToken) -> Unrecorded | None:
    """Return the spans that came with a token and changed no record."""
    units = without_record.found(token.project_id).filter(unrecorded_token=token.pk)
    count = units.aggregate(spans=Sum("unrecorded_spans"))["spans"]
    if not count:
        return None
    newest = units.order_by("-last_received_at", "-pk").values_list("unrecorded_names", flat=True)[:NEWEST]
    names = {name for text in newest for name in text.split("\n") if name}
    return Unrecorded(count, sorted(names))
