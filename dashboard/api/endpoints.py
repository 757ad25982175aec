"""Doors to loops, groups, compactions, approvals and refused lines."""

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router
from pydantic import Field

from dashboard.api import leaderboard, schemas
from dashboard.api.auth import project_of
from dashboard.api.params import ID_MAX, ById, OfApprovals, OfConfigs, OfLoop, OfSession, OfUsage
from dashboard.api.queries import compactions_approvals_quarantine, spending
from dashboard.api.queries import configs as config_queries
from dashboard.api.queries import groups as group_queries
from dashboard.api.queries import loops as loop_queries
from dashboard.shared.session_json.queries.loops import loop_item
from dashboard.shared.session_json.schemas import LoopItem

router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]


@router.get("/loops", response=schemas.Loops)
def loops(request: HttpRequest, asked: Query[OfLoop]) -> schemas.Loops:
    """List loops in recorded order."""
    return loop_queries.loops(project_of(request), asked)


@router.get("/loops/{pk}", response=LoopItem)
def loop(request: HttpRequest, pk: Path[Key]) -> LoopItem:
    """Return one loop."""
    found = loop_item(project_of(request), pk)
    if found is None:
        raise Http404
    return found


@router.get("/groups", response=schemas.Groups)
def groups(request: HttpRequest, asked: Query[OfSession]) -> schemas.Groups:
    """List parallel groups in recorded order."""
    return group_queries.groups(project_of(request), asked)


@router.get("/groups/{pk}", response=schemas.GroupItem)
def group(request: HttpRequest, pk: Path[Key]) -> schemas.GroupItem:
    """Return one parallel group."""
    found = group_queries.group(project_of(request), pk)
    if found is None:
        raise Http404
    return found


@router.get("/usage", response=schemas.UsageRows)
def usage(request: HttpRequest, asked: Query[OfUsage]) -> schemas.UsageRows:
    """Say what each config spent, by day with `group_by=config,day`."""
    return spending.usage_rows(project_of(request), asked)


@router.get("/configs", response=leaderboard.Standings)
def configs(request: HttpRequest, asked: Query[OfConfigs]) -> leaderboard.Standings:
    """List configs as the leaderboard ranks them."""
    return config_queries.configs(project_of(request), asked)


@router.get("/compactions", response=schemas.Compactions)
def compactions(request: HttpRequest, asked: Query[OfSession]) -> schemas.Compactions:
    """List compactions in recorded order."""
    return compactions_approvals_quarantine.compactions(project_of(request), asked)


@router.get("/approvals", response=schemas.Approvals)
def approvals(request: HttpRequest, asked: Query[OfApprovals]) -> schemas.Approvals:
    """List questions to people; `open=1` leaves those that wait."""
    return compactions_approvals_quarantine.approvals(project_of(request), asked)


@router.get("/quarantine", response=schemas.Quarantine)
def quarantine(request: HttpRequest, asked: Query[ById]) -> schemas.Quarantine:
    """List the lines that were refused and why."""
    return compactions_approvals_quarantine.quarantine(project_of(request), asked)
