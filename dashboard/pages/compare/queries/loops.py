"""The compared figures of loops of one session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Count

from dashboard.comparison.queries import MOST, turns_of_loops
from dashboard.comparison.turn_table import Branch
from dashboard.pages.compare.figures import Side
from dashboard.pages.compare.queries.requests import first_requests
from dashboard.shared.loop_state import kind_of, state_of, title_of
from dashboard.shared.queries.config_labels import answered_by, chip
from dashboard.shared.queries.costs import loops_with_sub_agents
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.session_state import end_of_loop
from dashboard.web import links
from recorder.models import LoopRecord, ModelConfig, Project, Session, ToolCall, Turn


def session_of(project: Project, pk: int) -> Session:
    """Return a session of the project. One query. Raises Session.DoesNotExist."""
    return Session.objects.select_related("project").get(project=project, pk=pk)


def sides(session: Session, pks: Sequence[int]) -> Sequence[Side]:
    """Return the loops in this order. A query a loop, nine, and two a level of sub-agents.

    Raises LoopRecord.DoesNotExist if one is not of the session.
    """
    found = LoopRecord.objects.filter(session=session).select_related("session").in_bulk(pks)
    if len(found) < len(pks):
        raise LoopRecord.DoesNotExist
    slug, loops = session.project.slug, [found[pk] for pk in pks]
    answered, tools, steps = answered_by(loops), _tools(pks), turns_of_loops(pks)
    configs = ModelConfig.objects.in_bulk({pk for each in answered.values() for pk in each.configs})
    chips = chart_chips({pk: chip(config) for pk, config in sorted(configs.items())})
    whole = loops_with_sub_agents(loops)
    requests = first_requests(slug, {pk: Turn.objects.filter(loop=pk) for pk in pks})
    return [
        Side(
            pk=loop.pk,
            title=f"{kind_of(loop)[0]}: {title_of(loop)}",
            url=links.loop(slug, session.pk, loop.pk),
            state=state_of(loop, is_waiting=loop.waiting > 0),
            agents=answered[loop.pk].agents,
            chips=answered[loop.pk].chips(chips),
            snapshots=[configs[config].snapshot for config in answered[loop.pk].configs],
            request=requests[loop.pk],
            started_at=loop.started_at,
            ended_at=end_of_loop(loop),
            counts={"Turns": loop.turns, "Tool calls": loop.tool_calls, "Errors": loop.errors},
            tools=tools[loop.pk],
            record=loop,
            whole=whole[loop.pk],
            turns=Branch(
                steps[loop.pk][:MOST],
                links.loop(slug, session.pk, loop.pk),
                end_of_loop(loop) is None and len(steps[loop.pk]) <= MOST,
            ),
            has_more_turns=len(steps[loop.pk]) > MOST,
        )
        for loop in loops
    ]


def _tools(pks: Sequence[int]) -> Mapping[int, Sequence[tuple[str, int]]]:
    """Return the tools that loops called, most calls first. One query."""
    calls = ToolCall.objects.filter(loop__in=pks, start_event__isnull=False)
    rows = calls.values_list("loop_id", "tool_name").annotate(calls=Count("pk"))
    found: dict[int, list[tuple[str, int]]] = {pk: [] for pk in pks}
    for loop, name, count in rows.order_by("-calls", "tool_name"):
        found[loop].append((name, count))
    return found
