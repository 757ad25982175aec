"""The definitions of scores on the settings page: parses the form of one, and writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recorder.notes.definitions import Draft
from recorder.notes.errors import Refused
from recorder.operations.audited import scores

if TYPE_CHECKING:
    from django.http import QueryDict

    from recorder.models import Project
    from recorder.operations.audit import Actor


def write(project: Project, sent: QueryDict, by: str, actor: Actor) -> None:
    """Delete the definition that `delete` names, change that of `edit`, or define one. Raises Refused."""
    if name := sent.get("delete"):
        scores.remove(project, name, actor)
    elif name := sent.get("edit"):
        _change(project, name, sent, actor)
    else:
        scores.define(project, _draft(sent), by, actor)


def _change(project: Project, name: str, sent: QueryDict, actor: Actor) -> None:
    is_there = scores.change(
        project,
        name,
        actor,
        least=_bound(sent.get("min", "")),
        most=_bound(sent.get("max", "")),
        # One field each: a category that a program defined may have a comma.
        categories=[each for each in sent.getlist("category") if each.strip()] + _words(sent),
        meaning=sent.get("meaning", "").strip(),
    )
    if not is_there:
        raise Refused(f"The project defines no score {name}.")


def _draft(sent: QueryDict) -> Draft:
    is_number, is_category = sent.get("kind") == "number", sent.get("kind") == "category"
    return Draft(
        sent.get("name", "").strip(),
        sent.get("kind", ""),
        _bound(sent.get("min", "")) if is_number else None,
        _bound(sent.get("max", "")) if is_number else None,
        _words(sent) if is_category else (),
        sent.get("meaning", "").strip(),
        sent.getlist("targets"),
        sent.getlist("sources"),
    )


def _words(sent: QueryDict) -> list[str]:
    return [word.strip() for word in sent.get("categories", "").split(",") if word.strip()]


def _bound(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise Refused("A bound of the range is not a number.") from None
