"""What a program may ask for: query strings, read strictly. What makes no sense is a 400 that says why."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Literal

from ninja import Schema
from pydantic import AfterValidator, AwareDatetime, Field, ValidationInfo, field_validator, model_validator

from dashboard.shared.session_filter import OUTCOMES, SORTS, STATUSES, Wanted
from dashboard.web.keyset import Cursor, Order
from recorder.core.formats.registry import SOURCES

LIMIT, LIMIT_MAX = 50, 200
ID_MAX = 2**63 - 1


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")
    return text


def _given(value: object) -> object:
    return [each for each in value if each != ""] if isinstance(value, list) else value


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("is beyond the calendar") from error


Moment = Annotated[AwareDatetime, AfterValidator(_utc)]
Text = Annotated[str, Field(max_length=512), AfterValidator(_storable)]
Texts = Annotated[list[Text], Field(max_length=50)]
Limit = Annotated[int, Field(ge=1, le=LIMIT_MAX)]


class Params(Schema):
    """What a query names; a name without a value, as a form sends it, asks for nothing."""

    @model_validator(mode="before")
    @classmethod
    def _named_only(cls, data: object) -> object:
        given = getattr(data, "_obj", data)
        if not isinstance(given, dict):
            return data
        kept = {name: _given(value) for name, value in given.items()}
        return {name: value for name, value in kept.items() if value not in ("", [])}


class ById(Params):
    """A page of items in recorded order."""

    cursor: Annotated[int, Field(ge=0, le=ID_MAX)] = 0
    limit: Limit = LIMIT


class OfSession(ById):
    session_id: Text | None = None


class OfLoop(OfSession):
    loop_id: Text | None = None


class OfConfigs(Params):
    """Which groups count, and after how many configs the page begins."""

    since: Moment | None = None
    until: Moment | None = None
    task: Annotated[Text, Field(max_length=200)] = ""
    agent: Texts = []
    judge: Texts = []
    cursor: Annotated[int, Field(ge=0, le=ID_MAX)] = 0
    limit: Limit = LIMIT


class OfApprovals(OfSession):
    open: bool = False


class OfUsage(ById):
    """What is spent, by config and perhaps by day; times count by the hour."""

    group_by: Literal["config", "config,day"] = "config"
    since: Moment | None = None
    until: Moment | None = None

    @property
    def by_day(self) -> bool:
        return self.group_by == "config,day"


class OfExport(Params):
    """Whose format an export has."""

    as_: Annotated[Literal["phi-session"], Field(alias="as")] = "phi-session"


class OfContext(Params):
    """Whether a session in brief is for programs or for a prompt."""

    as_: Annotated[Literal["json", "text"], Field(alias="as")] = "json"


class OfEvents(Params):
    """Whether each recorded line comes with where it belongs."""

    envelope: bool = False


class OfSessions(Params):
    """A page of sessions; of each name that is given more than once, any value will do."""

    q: Annotated[Text, Field(max_length=200)] = ""
    status: list[Literal[STATUSES]] = []  # type: ignore[valid-type]  # the words stand in one place
    outcome: list[Literal[OUTCOMES]] = []  # type: ignore[valid-type]
    agent: Texts = []
    model: Texts = []
    config: Texts = []
    source: list[Literal[SOURCES]] = []  # type: ignore[valid-type]
    since: Moment | None = None
    until: Moment | None = None
    min_cost: Annotated[Decimal, Field(ge=0, max_digits=20, decimal_places=9)] | None = None
    sort: Literal[tuple(SORTS)] = "-activity"  # type: ignore[valid-type]
    cursor: str | None = None
    limit: Limit = LIMIT

    @field_validator("cursor")
    @classmethod
    def _of_its_order(cls, text: str | None, asked: ValidationInfo) -> str | None:
        if text and "sort" in asked.data:
            SORTS[asked.data["sort"]].parse(text)
        return text

    @property
    def order(self) -> Order:
        return SORTS[self.sort]

    @property
    def after(self) -> Cursor | None:
        return self.order.parse(self.cursor) if self.cursor else None

    def wanted(self) -> Wanted:
        return Wanted(
            q=self.q.strip(),
            status=tuple(self.status),
            outcome=tuple(self.outcome),
            agent=tuple(self.agent),
            model=tuple(self.model),
            config=tuple(self.config),
            source=tuple(self.source),
            since=self.since,
            until=self.until,
            min_cost=None if self.min_cost is None else int(self.min_cost.scaleb(9)),
        )
