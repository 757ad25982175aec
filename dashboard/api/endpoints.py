"""Endpoints of loops, groups, usage, configs, compactions, approvals and rejected lines.

Each list answers one page of its `ListEndpoint`; the function declares path, params and schema for OpenAPI.
"""

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router
from pydantic import Field

from dashboard.api import leaderboard, schemas
from dashboard.api.auth import project_of
from dashboard.api.params import (
    ID_MAX,
    ById,
    OfApprovals,
    OfConfigs,
    OfLoop,
    OfSession,
    OfUsage,
)
from dashboard.api.queries.compactions_approvals_quarantine import APPROVALS, COMPACTIONS, QUARANTINE
from dashboard.api.queries.configs import CONFIGS
from dashboard.api.queries.groups import GROUPS
from dashboard.api.queries.groups import group as find_group
from dashboard.api.queries.loops import LOOPS
from dashboard.api.queries.spending import USAGE
from dashboard.shared.session_json.queries.loops import loop_item
from dashboard.shared.session_json.schemas import LoopItem

router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]


@router.get("/loops", response=schemas.Loops)
def loops(request: HttpRequest, params: Query[OfLoop]) -> schemas.Loops:
    """List loops in recorded order."""
    return LOOPS.page(project_of(request), params)


@router.get("/loops/{pk}", response=LoopItem)
def loop(request: HttpRequest, pk: Path[Key]) -> LoopItem:
    """Return one loop."""
    found = loop_item(project_of(request), pk)
    if found is None:
        raise Http404
    return found


@router.get("/groups", response=schemas.Groups)
def groups(request: HttpRequest, params: Query[OfSession]) -> schemas.Groups:
    """List parallel groups in recorded order."""
    return GROUPS.page(project_of(request), params)


@router.get("/groups/{pk}", response=schemas.GroupItem)
def group(request: HttpRequest, pk: Path[Key]) -> schemas.GroupItem:
    """Return one parallel group."""
    found = find_group(project_of(request), pk)
    if found is None:
        raise Http404
    return found


@router.get("/usage", response=schemas.UsageRows)
def usage(request: HttpRequest, params: Query[OfUsage]) -> schemas.UsageRows:
    """List usage and cost by config, or by config and day with `group_by=config,day`."""
    return USAGE.page(project_of(request), params)


@router.get("/configs", response=leaderboard.Standings)
def configs(request: HttpRequest, params: Query[OfConfigs]) -> leaderboard.Standings:
    """List configs in leaderboard order."""
    return CONFIGS.page(project_of(request), params)


@router.get("/compactions", response=schemas.Compactions)
def compactions(request: HttpRequest, params: Query[OfSession]) -> schemas.Compactions:
    """List compactions in recorded order."""
    return COMPACTIONS.page(project_of(request), params)


@router.get("/approvals", response=schemas.Approvals)
def approvals(request: HttpRequest, params: Query[OfApprovals]) -> schemas.Approvals:
    """List approval requests; `open=1` only those that are not resolved."""
    return APPROVALS.page(project_of(request), params)


@router.get("/quarantine", response=schemas.Quarantine)
def quarantine(request: HttpRequest, params: Query[ById]) -> schemas.Quarantine:
    """List rejected lines and the reasons."""
    return QUARANTINE.page(project_of(request), params)
