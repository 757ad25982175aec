"""What an event is to Python: a frozen dataclass, which pydantic fills with what it has checked.

A BaseModel would hold the same, but takes ten times as long to say what a field holds.
"""

from __future__ import annotations

from typing import TypeVar, dataclass_transform

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

_M = TypeVar("_M")
_defaults: dict[type, dict[str, object]] = {}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(Field,))
def event(model: type[_M]) -> type[_M]:
    """Make a class an event, or a part of one; what is not known here is left out of it."""
    config = ConfigDict(extra="ignore", populate_by_name=True)
    dataclass(frozen=True, kw_only=True, config=config)(model)  # changes the class itself
    fields = fields_of(model).items()
    _defaults[model] = {name: field.default for name, field in fields if not field.is_required()}
    return model


def construct(model: type[_M], **fields: object) -> _M:
    """Return an event of fields that need no check; those that are left out stand at their default."""
    new = object.__new__(model)
    held = new.__dict__
    held.update(_defaults[model])
    held.update(fields)  # both at once take twice as long
    return new


def fields_of(model: type) -> dict[str, FieldInfo]:
    """Return what the fields of an event are, by name."""
    fields: dict[str, FieldInfo] = model.__pydantic_fields__  # type: ignore[attr-defined]  # of events alone
    return fields
