"""Endpoints of loops, groups, tool calls, usage, configs, compactions, approvals, waste and rejected lines.

Each list answers one page of its `ListEndpoint`; the function declares path, params and schema for OpenAPI.
"""

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router
from pydantic import Field

from dashboard.api import leaderboard, schemas
from dashboard.api.auth import project_of, project_with, reader_of
from dashboard.api.params import (
    ID_MAX,
    ById,
    OfApprovals,
    OfAudit,
    OfConfigs,
    OfLoop,
    OfSearch,
    OfSession,
    OfUsage,
    OfWaste,
)
from dashboard.api.queries.audit import AUDIT
from dashboard.api.queries.compactions_approvals_quarantine import APPROVALS, COMPACTIONS, QUARANTINE
from dashboard.api.queries.configs import CONFIGS
from dashboard.api.queries.groups import GROUPS
from dashboard.api.queries.groups import group as find_group
from dashboard.api.queries.loops import LOOPS
from dashboard.api.queries.search import search as find_text
from dashboard.api.queries.spending import USAGE
from dashboard.api.queries.tool_calls import TOOL_CALLS
from dashboard.api.queries.waste import WASTE
from dashboard.shared.session_json.queries.loops import loop_item
from dashboard.shared.session_json.schemas import LoopItem
from recorder.access.rights import Right

router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]


@router.get("/search", response=schemas.SearchResults)
def search(request: HttpRequest, params: Query[OfSearch]) -> schemas.SearchResults:
    """Find sessions by words of anything recorded in them, and show where these words stand."""
    return find_text(reader_of(request), params)


@router.get("/loops", response=schemas.Loops)
def loops(request: HttpRequest, params: Query[OfLoop]) -> schemas.Loops:
    """List loops in recorded order."""
    return LOOPS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/loops/{pk}", response=LoopItem)
def loop(request: HttpRequest, pk: Path[Key]) -> LoopItem:
    """Return one loop."""
    item = loop_item(project_of(request), pk)
    if item is None:
        raise Http404
    return item


@router.get("/groups", response=schemas.Groups)
def groups(request: HttpRequest, params: Query[OfSession]) -> schemas.Groups:
    """List parallel groups in recorded order."""
    return GROUPS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/groups/{pk}", response=schemas.GroupItem)
def group(request: HttpRequest, pk: Path[Key]) -> schemas.GroupItem:
    """Return one parallel group."""
    item = find_group(project_of(request), pk)
    if item is None:
        raise Http404
    return item


@router.get("/tool-calls", response=schemas.ToolCalls)
def tool_calls(request: HttpRequest, params: Query[OfLoop]) -> schemas.ToolCalls:
    """List tool calls, the newest first."""
    return TOOL_CALLS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/usage", response=schemas.UsageRows)
def usage(request: HttpRequest, params: Query[OfUsage]) -> schemas.UsageRows:
    """List usage and cost by config, or by config and day with `group_by=config,day`."""
    return USAGE.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/configs", response=leaderboard.Standings)
def configs(request: HttpRequest, params: Query[OfConfigs]) -> leaderboard.Standings:
    """List configs in leaderboard order."""
    return CONFIGS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/compactions", response=schemas.Compactions)
def compactions(request: HttpRequest, params: Query[OfSession]) -> schemas.Compactions:
    """List compactions in recorded order."""
    return COMPACTIONS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/approvals", response=schemas.Approvals)
def approvals(request: HttpRequest, params: Query[OfApprovals]) -> schemas.Approvals:
    """List approval requests; `open=1` only those that are not resolved."""
    return APPROVALS.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/waste", response=schemas.Wastes)
def waste(request: HttpRequest, params: Query[OfWaste]) -> schemas.Wastes:
    """List waste in the order in which it was found: calls that brought nothing new, with their cost."""
    return WASTE.page(project_of(request), params.read_query(reader_of(request)))


@router.get("/quarantine", response=schemas.Quarantine)
def quarantine(request: HttpRequest, params: Query[ById]) -> schemas.Quarantine:
    """List rejected lines and the reasons."""
    return QUARANTINE.page(project_of(request), params)


@router.get("/audit", response=schemas.Audit)
def audit(request: HttpRequest, params: Query[OfAudit]) -> schemas.Audit:
    """List the entries of the audit log in recorded order: of the project, and sign-ins. Admins only."""
    return AUDIT.page(project_with(request, Right.READ_AUDIT), params.read_by(reader_of(request)))
