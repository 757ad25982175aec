"""The definitions of scores: what a project's scores take, on which targets and by whom.

A score of an undefined name is refused, by people and programs alike, and creates no definition: a typing
error would otherwise become a score of its own, whose mean has no use (docs/adr/0034).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max, Min, QuerySet
from django.db.utils import IntegrityError

from recorder.models import Note, Project, ScoreDefinition
from recorder.notes.errors import Refused

Value = int | float | str | bool

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")  # a key of the query language: score.NAME
CATEGORIES, CATEGORY_CHARS, MEANING_CHARS = 20, 64, 500
MOST = 1e15
BUTTONS = 10  # values of a range up to which each has a button
_YES = {"yes": True, "true": True, "no": False, "false": False}


@dataclass(frozen=True, slots=True)
class Draft:
    """A definition as an admin writes it. Empty `targets` and `sources` are all of them."""

    name: str
    kind: str
    least: float | None = None
    most: float | None = None
    categories: Sequence[str] = ()
    meaning: str = ""
    targets: Sequence[str] = ()
    sources: Sequence[str] = ()


def define(project: Project, draft: Draft, by: str) -> ScoreDefinition:
    """Create a definition. Raises Refused."""
    _check(draft)
    made = ScoreDefinition(
        project=project,
        name=draft.name,
        kind=draft.kind,
        least=draft.least,
        most=draft.most,
        meaning=draft.meaning,
        created_by=by,
    )
    made.categories, made.targets, made.sources = (
        list(draft.categories),
        list(draft.targets),
        list(draft.sources),
    )
    try:
        with transaction.atomic():
            made.save()
    except IntegrityError:
        raise Refused(f"The project has a score {draft.name} already.", "conflict") from None
    return made


def change(
    project: Project,
    name: str,
    *,
    least: float | None = None,
    most: float | None = None,
    categories: Sequence[str] = (),
    meaning: str = "",
) -> bool:
    """Change the range or the categories and the meaning of a definition; return whether there is one.

    The name and the kind stay, and so do targets and sources. Raises Refused, and changes nothing, if a score
    that was given would no longer be valid. Three queries at most.
    """
    with transaction.atomic():
        found = ScoreDefinition.objects.select_for_update().filter(project=project, name=name).first()
        if found is None:
            return False
        _check(Draft(name, found.kind, least, most, categories, meaning))
        if found.kind == ScoreDefinition.Kind.NUMBER:
            _check_range(found, least, most)
            found.least, found.most = least, most
        elif found.kind == ScoreDefinition.Kind.CATEGORY:
            _check_used(found, categories)
            found.categories = list(categories)
        found.meaning = meaning
        found.save(update_fields=("least", "most", "categories", "meaning"))
    return True


def remove(project: Project, name: str) -> bool:
    """Delete a definition that no score uses; return whether there was one. Raises Refused."""
    with transaction.atomic():
        found = ScoreDefinition.objects.select_for_update().filter(project=project, name=name).first()
        if found is None:
            return False
        uses = Note.objects.filter(project=project, kind=Note.Kind.SCORE, name=name).count()
        if uses:
            raise Refused(f"{uses} scores use {name}. Only unused definitions can be deleted.")
        found.delete()
    return True


def definition(project: int, name: str, target: str, source: str) -> ScoreDefinition:
    """Return the definition by which a score is given. Raises Refused if there is none for it.

    It cannot change until the transaction of the caller ends, so that the score is valid when it is stored.
    """
    found = ScoreDefinition.objects.select_for_update().filter(project=project, name=name).first()
    if found is None:
        names = sorted(ScoreDefinition.objects.filter(project=project).values_list("name", flat=True))
        exist = f"Defined are: {', '.join(names)}." if names else "The project defines no scores yet."
        raise Refused(f"The project defines no score {name}. {exist}", "unknown_score")
    check_use(found, target, source)
    return found


def check_use(definition: ScoreDefinition, target: str, source: str) -> None:
    """Raise Refused if a score is not given on such a target, or not by such a source."""
    name, targets, sources = definition.name, definition.targets, definition.sources
    if targets and target not in targets:
        raise Refused(f"The score {name} is given on {_or(targets)}, not on {target}.")
    if sources and source not in sources:
        raise Refused(f"The score {name} is given by {_or(sources)}, not by {source}.")


def checked(definition: ScoreDefinition, value: object) -> Value:
    """Return a value that the definition takes. Raises Refused, and says what it takes."""
    refused = Refused(f"The score {definition.name} takes {takes(definition)}.")
    match definition.kind:
        case "number":
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or abs(value) > MOST:  # type: ignore[arg-type]
                raise refused
            least, most = definition.least, definition.most
            if (least is not None and value < least) or (most is not None and value > most):  # type: ignore[operator]
                raise refused
        case "boolean":
            if not isinstance(value, bool):
                raise refused
        case _:
            if value not in definition.categories:
                raise refused
    return value  # type: ignore[return-value]  # each arm has checked it


def parsed(definition: ScoreDefinition, text: str) -> Value:
    """Return the value that a form sent as text. Raises Refused."""
    value: object = text
    if definition.kind == "boolean":
        value = _YES.get(text.strip().lower(), text)
    elif definition.kind == "number":
        try:
            value = float(text)
        except ValueError:
            value = text
        if isinstance(value, float) and value.is_integer() and abs(value) < MOST:
            value = int(value)
    return checked(definition, value)


def number_of(value: Value) -> float | None:
    """Return the number by which scores are compared and averaged; yes is 1. None for a category."""
    return None if isinstance(value, str) else float(value)


def takes(definition: ScoreDefinition) -> str:
    """Return what values a definition takes, as a phrase."""
    if definition.kind == "boolean":
        return "true or false"
    if definition.kind == "category":
        return f"one of {', '.join(definition.categories)}"
    least, most = definition.least, definition.most
    if least is not None and most is not None:
        return f"a number from {least:g} to {most:g}"
    if least is not None:
        return f"a number of at least {least:g}"
    return "a number" if most is None else f"a number of at most {most:g}"


def choices(definition: ScoreDefinition) -> list[str]:
    """Return the values to choose from, as text; none for a number with a wide range."""
    if definition.kind == "boolean":
        return ["yes", "no"]
    if definition.kind == "category":
        return list(definition.categories)
    least, most = definition.least, definition.most
    is_short = least is not None and most is not None and most - least < BUTTONS
    if not is_short or least is None or most is None or not least.is_integer() or not most.is_integer():
        return []
    return [str(number) for number in range(int(least), int(most) + 1)]


def _check(draft: Draft) -> None:
    if not NAME.fullmatch(draft.name):
        raise Refused("A name begins with a letter and has letters, digits, '.', '_' and '-', at most 64.")
    if draft.kind not in ScoreDefinition.Kind.values:
        raise Refused(f"A score takes {_or(ScoreDefinition.Kind.values)}.")
    if draft.kind == ScoreDefinition.Kind.CATEGORY:
        _check_categories(draft.categories)
    for bound in (draft.least, draft.most):
        if bound is not None and (not math.isfinite(bound) or abs(bound) > MOST):
            raise Refused("A bound of the range is not a usable number.")
    if draft.least is not None and draft.most is not None and draft.least >= draft.most:
        raise Refused("The range is empty: its lower bound is not below its upper bound.")
    if set(draft.targets) - set(Note.Target.values) or set(draft.sources) - set(Note.Source.values):
        raise Refused("Unknown target or source.")
    if len(draft.meaning) > MEANING_CHARS or "\0" in draft.meaning:
        raise Refused(f"The meaning has more than {MEANING_CHARS} characters, or a NUL character.")


def _check_categories(categories: Sequence[str]) -> None:
    if not 2 <= len(categories) <= CATEGORIES or len(set(categories)) < len(categories):
        raise Refused(f"A score of categories has 2 to {CATEGORIES} different ones.")
    if not all(each.strip() and len(each) <= CATEGORY_CHARS and "\0" not in each for each in categories):
        raise Refused(f"A category has 1 to {CATEGORY_CHARS} characters.")


def _check_range(found: ScoreDefinition, least: float | None, most: float | None) -> None:
    ends = _scores_of(found).aggregate(lowest=Min("number"), highest=Max("number"))
    lowest, highest = ends["lowest"], ends["highest"]
    if lowest is not None and least is not None and lowest < least:
        raise Refused(f"A score of {lowest:g} was given: the range of {found.name} has to include it.")
    if highest is not None and most is not None and highest > most:
        raise Refused(f"A score of {highest:g} was given: the range of {found.name} has to include it.")


def _check_used(found: ScoreDefinition, categories: Sequence[str]) -> None:
    used = {str(value) for value in _scores_of(found).order_by().values_list("value", flat=True).distinct()}
    if lost := sorted(used - set(categories)):
        raise Refused(f"Scores were given as {', '.join(lost)}: the list of {found.name} has to keep them.")


def _scores_of(found: ScoreDefinition) -> QuerySet[Note]:
    return Note.objects.filter(project=found.project_id, kind=Note.Kind.SCORE, name=found.name)


def _or(words: Sequence[str]) -> str:
    return " or ".join(words)
