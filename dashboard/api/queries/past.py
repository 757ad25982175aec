"""A session at a recorded event, as the same item that it is now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from django.db.models import Model

from dashboard.api import schemas
from dashboard.api.queries.loops import Around, item
from dashboard.api.queries.sessions import session_fields
from dashboard.chips import chips
from dashboard.money import Cost, total
from recorder.core.changes import Loop, Record
from recorder.core.changes import Session as Folded
from recorder.core.tree import tree_order
from recorder.models import LoopRecord, ModelConfig, Project, Session
from recorder.past import Past, fold


def session_at(project: Project, found: Session, at: int) -> schemas.SessionDetail:
    """Return a session with everything folded up to an event. Raises NotOfSession."""
    past = fold(found, at)
    then = next(each for each in past.sessions if each.id == found.pk)
    rows = {loop: _row(LoopRecord, loop, session=found) for loop in past.loops if loop.id}
    mine = {loop: row for loop, row in rows.items() if loop.session is then}
    around = _around(past, mine)
    items = {row.pk: item(project, row, around) for row in mine.values()}
    whole = total([then, *(each for each in past.sessions if _is_below(each, then))])
    about = _row(Session, then, project=project)
    ordered = [items[row.pk] for row in tree_order(mine.values())]
    return schemas.SessionDetail(**session_fields(project, about, whole) | {"loops": ordered})


def _row(model: type[Any], record: Record, **given: Model) -> Any:
    """Return a folded record as a row that is in no table."""
    values: dict[str, Any] = {}
    for each in fields(record):
        value = getattr(record, each.name)
        if each.name in given or each.name == "producer":
            continue
        if each.name == "config":
            values["config"] = None if value is None else _row(ModelConfig, value)
        elif hasattr(model, f"{each.name}_id"):
            values[f"{each.name}_id"] = None if value is None else value.id
        else:
            values[each.name] = value
    return model(**values, **given)


def _around(past: Past, mine: Mapping[Loop, LoopRecord]) -> Around:
    children: dict[int, list[int]] = defaultdict(list)
    for loop in mine:
        if loop.parent is not None:
            children[loop.parent.id].append(loop.id)
    refs: dict[int, list[schemas.ChildRef]] = defaultdict(list)
    for ref in past.refs:
        refs[ref.loop.id].append(
            schemas.ChildRef(
                tool_call_id=ref.tool_call_id,
                tool_name=ref.tool_name,
                child_loop_id=ref.child_loop_id,
                child_session_id=ref.child_session_id,
                loop=ref.child.id if ref.child else None,
                certainty=ref.certainty,
            )
        )
    approvals: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for each in past.approvals:
        if each.loop is not None:
            asked, waiting = approvals[each.loop.id]
            approvals[each.loop.id] = asked + 1, waiting + (each.resolved_at is None)
    configs = {row.config_id for row in mine.values() if row.config_id}
    whole = {loop.id: _with_sub_agents(past, loop) for loop in mine}
    return Around(chips(configs), children, refs, approvals, whole)


def _with_sub_agents(past: Past, loop: Loop) -> Cost:
    reached, waiting = {loop: None}, [loop]
    while waiting:
        above = waiting.pop()
        below = [ref.child for ref in past.refs if ref.loop is above and ref.child is not None]
        fresh = [child for child in below if child not in reached]
        reached |= dict.fromkeys(fresh)
        waiting += fresh
    return total(reached)


def _is_below(session: Folded, above: Folded) -> bool:
    for _ in range(200):
        if session.parent is None or session is above:
            return False
        session = session.parent.session
        if session is above:
            return True
    return False
