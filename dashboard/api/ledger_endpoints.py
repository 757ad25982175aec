"""Endpoints of the block ledger."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router
from pydantic import Field

from dashboard.api import ledger_schemas as schemas
from dashboard.api.auth import project_of
from dashboard.api.ledger_params import OfLedger, OfLedgerSums
from dashboard.api.params import ID_MAX
from dashboard.api.queries import ledger as queries

router = Router()
Key = Annotated[int, Field(ge=0, le=ID_MAX)]


@router.get("/context", response=schemas.SessionLedgerItem)
def context(request: HttpRequest, params: Query[OfLedger]) -> schemas.SessionLedgerItem:
    """Return what the calls of a session were sent, and what each block cost; `at` as of an event."""
    ledger = queries.ledger_of_session(project_of(request), params.session_id, params.at)
    if ledger is None:
        raise Http404
    return ledger


@router.get("/context/turns/{pk}", response=schemas.TurnLedgerItem)
def context_of_turn(request: HttpRequest, pk: Path[Key]) -> schemas.TurnLedgerItem:
    """Return the blocks that one call was sent, in order, and the verdict on its cache."""
    ledger = queries.ledger_of_turn(project_of(request), pk)
    if ledger is None:
        raise Http404
    return ledger


@router.get("/context/causes", response=schemas.CausesItem)
def causes(request: HttpRequest, params: Query[OfLedgerSums]) -> schemas.CausesItem:
    """Return what the context of a period cost, and what was lost to cache misses by cause and day."""
    return queries.causes(params.scope(project_of(request)))


@router.get("/context/tools", response=schemas.ToolsItem)
def tools(request: HttpRequest, params: Query[OfLedgerSums]) -> schemas.ToolsItem:
    """Return what results of tools and definitions never called cost in all turns that carried them."""
    return queries.tools(params.scope(project_of(request)))


@router.get("/context/requests", response=schemas.RequestsItem)
def requests(request: HttpRequest, params: Query[OfLedgerSums]) -> schemas.RequestsItem:
    """Return the dearest requests of a period: those that make 90 % of its cost, at most 200."""
    return queries.requests(params.scope(project_of(request)))


@router.get("/context/floors", response=schemas.FloorsItem)
def session_floors(request: HttpRequest, params: Query[OfLedgerSums]) -> schemas.FloorsItem:
    """Return the tokens of system prompt and tool definitions that each call has, and how they grew."""
    return queries.session_floors(params.scope(project_of(request)))


@router.get("/context/versions", response=schemas.VersionsItem)
def versions(request: HttpRequest, params: Query[OfLedgerSums]) -> schemas.VersionsItem:
    """Return turns, context and losses by agent and version."""
    return queries.versions(params.scope(project_of(request)))
