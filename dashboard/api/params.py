"""Parameters of the read API, parsed strictly: an invalid value is a 400 that names the parameter."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal, Self, TypeVar, cast

from django.utils import timezone
from ninja import Schema
from ninja.errors import HttpError
from pydantic import (
    AfterValidator,
    AwareDatetime,
    Field,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from dashboard.query_conditions.spending import spending_scope
from dashboard.query_language import parse
from dashboard.shared.queries.session_filter import (
    LABEL_MAX,
    METADATA,
    OUTCOMES,
    SORTS,
    STATUSES,
    Wanted,
    metadata_names,
)
from dashboard.shared.waste.words import LABELS as WASTE_RULES
from dashboard.web.keyset import Cursor, Order
from recorder.core.sources import SOURCES
from recorder.operations.audit_actions import ACTIONS, Group

Selected = TypeVar("Selected")

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import AbstractBaseUser
    from django.http import QueryDict

    from dashboard.query_language.nodes import Node
    from dashboard.security.access import Reader
    from dashboard.shared.spending.scope import Scope
    from recorder.models import Project

    Matches = Callable[[int, Node | None, datetime, AbstractBaseUser | None], Selected]

LIMIT, LIMIT_MAX = 50, 200
ID_MAX = 2**63 - 1


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("contains a NUL character")
    return text


def _without_empty(value: object) -> object:
    return [item for item in value if item != ""] if isinstance(value, list) else value


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is out of range") from error


Moment = Annotated[AwareDatetime, AfterValidator(_utc)]
Text = Annotated[str, Field(max_length=512), AfterValidator(_storable)]
Texts = Annotated[list[Text], Field(max_length=50)]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]


class QueryParams(Schema):
    """Base of all parameters. A parameter with an empty value, as forms send it, counts as absent."""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, data: object) -> object:
        values = getattr(data, "_obj", data)
        if not isinstance(values, dict):
            return data
        cleaned = {name: _without_empty(value) for name, value in values.items()}
        return {name: value for name, value in cleaned.items() if value not in ("", [])}


class Queried(QueryParams):
    """Parameters of a list that takes a query; `q` is in the grammar of `dashboard.query_language`."""

    q: str = ""
    _node: Node | None = PrivateAttr(None)
    _user: AbstractBaseUser | None = PrivateAttr(None)

    def read_query(self, reader: Reader) -> Self:
        """Return these parameters with the query parsed for its reader. Raises QueryError."""
        self._node, self._user = parse(self.q), reader.user
        return self

    def condition(self, on: Matches[Selected], project: Project) -> Selected:
        """Return the condition of the query on one kind of record, or on all that has usage."""
        return on(project.pk, self._node, timezone.now(), self._user)


class ById(QueryParams):
    """A page of items in recorded order."""

    cursor: Annotated[int, Field(ge=0, le=ID_MAX)] = 0
    limit: Limit = LIMIT


class OfSession(ById, Queried):
    session_id: Text | None = None


class OfNotes(OfSession):
    """Notes, scores and bookmarks; `at` gives those that stand as of an event of the session."""

    kind: Literal["note", "score", "bookmark"] | None = None
    name: Text | None = None
    source: Literal["human", "code", "judge"] | None = None
    at: Annotated[int, Field(ge=0, le=ID_MAX)] | None = None


class OfLoop(OfSession):
    loop_id: Text | None = None


class OfConfigs(Queried):
    """Filter of the groups that count; `cursor` is the number of configs before the page."""

    since: Moment | None = None
    until: Moment | None = None
    task: Annotated[Text, Field(max_length=200)] = ""
    agent: Texts = []
    judge: Texts = []
    cursor: Annotated[int, Field(ge=0, le=ID_MAX)] = 0
    limit: Limit = LIMIT


class OfAudit(ById):
    """Filter of the audit log; a repeated parameter matches any of its values."""

    q: Annotated[Text, Field(description="Words, each in the actor, the target or the address.")] = ""
    group: Group | None = None
    actor: Texts = []
    action: Annotated[Texts, Field(description=f"Any of: {', '.join(ACTIONS)}.")] = []
    since: Moment | None = None
    until: Moment | None = None
    _reader: AbstractBaseUser | None = PrivateAttr(None)

    def read_by(self, reader: Reader) -> Self:
        """Return these parameters with their reader."""
        self._reader = reader.user
        return self

    @property
    def reader(self) -> AbstractBaseUser | None:
        return self._reader


class OfApprovals(OfSession):
    open: bool = False


class OfWaste(ById, Queried):
    """Waste of one session or of all that `q` selects; `alarms` only what was on the attention page."""

    session: Text | None = None
    rule: Literal[tuple(WASTE_RULES)] | None = None  # type: ignore[valid-type]
    since: Moment | None = None
    alarms: bool = False


class OfUsage(ById, Queried):
    """Usage by config, model or agent, also by day; `since` and `until` count by whole hours.

    `q` selects the sessions whose usage counts; `agent`, `model`, `provider`, `config`, `loop`, `role` and
    `branch`, apart from other keys, select their turns.
    """

    group_by: Literal["config", "config,day", "model", "model,day", "agent", "agent,day"] = "config"
    since: Moment | None = None
    until: Moment | None = None
    _scope: Scope | None = PrivateAttr(None)

    def scope(self, project: Project) -> Scope:
        """Return what the query selects, read once in a request."""
        if self._scope is None:
            self._scope = self.condition(spending_scope, project)
        return self._scope

    @property
    def by_day(self) -> bool:
        return self.group_by.endswith(",day")

    @property
    def by(self) -> Literal["config", "model", "agent"]:
        """Return what rows are grouped by, beside the day."""
        return cast("Literal['config', 'model', 'agent']", self.group_by.partition(",")[0])


class OfExport(QueryParams):
    """Format of an export; `encoding` is that of OTLP."""

    as_: Annotated[Literal["phi-session", "otlp", "html"], Field(alias="as")] = "phi-session"
    encoding: Literal["json", "protobuf"] = "json"


class OfContext(QueryParams):
    """Format of a session brief: JSON, or text for a model's prompt."""

    as_: Annotated[Literal["json", "text"], Field(alias="as")] = "json"


class OfEvents(QueryParams):
    """Whether each recorded line is wrapped in an envelope with its id, producer and loop."""

    envelope: bool = False


class OfSearch(QueryParams):
    """A query, the kinds of its hits, and their order; `cursor` is the `next` of the page before."""

    q: str = ""
    kind: list[
        Literal["prompt", "answer", "thinking", "tool_call", "tool_result", "system", "note", "title"]
    ] = []
    sort: Literal["newest", "best"] = "newest"
    cursor: Annotated[int, Field(ge=0, le=ID_MAX)] = 0
    limit: Limit = LIMIT


class OfSessions(Queried):
    """A page of sessions; a repeated parameter matches any of its values."""

    status: list[Literal[STATUSES]] = []  # type: ignore[valid-type]  # defined once, in session_filter
    stale: bool | None = None
    outcome: list[Literal[OUTCOMES]] = []  # type: ignore[valid-type]
    agent: Texts = []
    model: Texts = []
    config: Texts = []
    source: list[Literal[SOURCES]] = []  # type: ignore[valid-type]
    tag: Texts = []
    since: Moment | None = None
    until: Moment | None = None
    min_cost: Annotated[Decimal, Field(ge=0, max_digits=20, decimal_places=9)] | None = None
    sort: Literal[tuple(SORTS)] = "-activity"  # type: ignore[valid-type]
    cursor: str | None = None
    limit: Limit = LIMIT
    _metadata: tuple[tuple[str, str], ...] = PrivateAttr(())

    def with_metadata(self, query: QueryDict) -> Self:
        """Return these parameters with those called metadata.NAME. Raises HttpError for an invalid value."""
        pairs = [
            (name, value)
            for name in metadata_names(query)
            for value in query.getlist(f"{METADATA}{name}")
            if value
        ]
        for name, value in pairs:
            if "\0" in value or len(value) > LABEL_MAX:
                raise HttpError(400, f"{METADATA}{name}: has a NUL character or more than {LABEL_MAX}.")
        self._metadata = tuple(pairs)
        return self

    @field_validator("cursor")
    @classmethod
    def _matches_sort(cls, text: str | None, validated: ValidationInfo) -> str | None:
        if text and "sort" in validated.data:
            SORTS[validated.data["sort"]].parse(text)
        return text

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def after(self) -> Cursor | None:
        return self.order.parse(self.cursor) if self.cursor else None

    def wanted(self) -> Wanted:
        """Return the conditions; the minimum cost in nano-dollars."""
        return Wanted(
            recorded_status=tuple(self.status),
            stale=self.stale,
            outcome=tuple(self.outcome),
            agent=tuple(self.agent),
            model=tuple(self.model),
            config=tuple(self.config),
            source=tuple(self.source),
            tag=tuple(self.tag),
            metadata=self._metadata,
            since=self.since,
            until=self.until,
            min_cost=None if self.min_cost is None else int(self.min_cost.scaleb(9)),
        )
