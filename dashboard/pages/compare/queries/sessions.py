"""The compared figures of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Count, F, Min

from dashboard.comparison.queries import turns_of_session
from dashboard.comparison.turn_table import Branch
from dashboard.pages.compare.figures import Side
from dashboard.pages.compare.queries.requests import first_requests
from dashboard.shared.queries.config_labels import AnsweredBy, chip
from dashboard.shared.queries.costs import sessions_with_sub_agents
from dashboard.shared.series_colours import chart_chips
from dashboard.shared.session_state import end_of_session, state_of_session
from dashboard.web import links
from recorder.models import LoopRecord, ModelConfig, Project, Session, ToolCall, Turn

COUNTS = {"Loops": "loops", "Turns": "turns", "Tool calls": "tool_calls", "Evaluations": "groups"}


def sides(project: Project, pks: Sequence[int]) -> Sequence[Side]:
    """Return the sessions in this order. Three queries a session, seven, and one a level of sub-agents.

    Raises Session.DoesNotExist if one is not of the project.
    """
    found = Session.objects.filter(project=project).defer("formation", "summary", "working_dir").in_bulk(pks)
    if len(found) < len(pks):
        raise Session.DoesNotExist
    answered, tools = _answered_by(pks), _tools(pks)
    configs = ModelConfig.objects.in_bulk({pk for each in answered.values() for pk in each.configs})
    chips = chart_chips({pk: chip(config) for pk, config in sorted(configs.items())})
    whole = sessions_with_sub_agents(list(found.values()))
    requests = first_requests(project.slug, {pk: Turn.objects.filter(loop__session=pk) for pk in pks})
    compared = []
    for pk in pks:
        session, (steps, has_more_turns) = found[pk], turns_of_session(project.slug, pk)
        ended_at = end_of_session(session)
        side = Side(
            pk=pk,
            title=session.title or session.session_id,
            url=links.session(project.slug, pk),
            state=state_of_session(session),
            agents=answered[pk].agents,
            chips=answered[pk].chips(chips),
            snapshots=[configs[config].snapshot for config in answered[pk].configs],
            request=requests[pk],
            started_at=session.created_at,
            ended_at=ended_at,
            counts={name: getattr(session, column) for name, column in COUNTS.items()},
            tools=tools[pk],
            record=session,
            whole=whole[pk],
            turns=Branch(steps, "", ended_at is None and not has_more_turns),
            has_more_turns=has_more_turns,
        )
        compared.append(side)
    return compared


def _answered_by(pks: Sequence[int]) -> Mapping[int, AnsweredBy]:
    """Return the configs and agents of sessions, in order of their first loops and turns. Two queries."""
    columns = ("of", "config_id", "agent_id")
    began = LoopRecord.objects.filter(session__in=pks).values("config_id", "agent_id", of=F("session"))
    switched = Turn.objects.filter(loop__session__in=pks, loop__has_switched=True)
    took_over = switched.values("config_id", "agent_id", of=F("loop__session"))
    configs: dict[int, dict[int, None]] = {pk: {} for pk in pks}
    agents: dict[int, dict[str, None]] = {pk: {} for pk in pks}
    for rows in (began, took_over):
        for of, config, agent in rows.annotate(first=Min("pk")).order_by("first").values_list(*columns):
            if config is not None:
                configs[of].setdefault(config)
            if agent:
                agents[of].setdefault(agent)
    return {pk: AnsweredBy(tuple(configs[pk]), tuple(agents[pk])) for pk in pks}


def _tools(pks: Sequence[int]) -> Mapping[int, Sequence[tuple[str, int]]]:
    """Return the tools that sessions called, most calls first. One query."""
    calls = ToolCall.objects.filter(loop__session__in=pks, start_event__isnull=False)
    rows = calls.values_list("loop__session", "tool_name").annotate(calls=Count("pk"))
    found: dict[int, list[tuple[str, int]]] = {pk: [] for pk in pks}
    for session, name, count in rows.order_by("-calls", "tool_name"):
        found[session].append((name, count))
    return found
