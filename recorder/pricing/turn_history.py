"""Correction of turns that were recorded before a turn had a config, an agent and errors of its own.

The migration that adds the columns requests one job a project. The server works on it as on a re-pricing, in
batches of one transaction each, so that a large database opens at once. A job is resumable.

Invariant: after it the records and the rollups are what a rebuild makes of the journal. Where bodies are
pruned, turns that another agent answered stay with the agent that the loop began with.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar, cast

from recorder.core.content.text import clean
from recorder.core.costs import billing
from recorder.core.handlers import model_configs
from recorder.core.handlers.lifecycle import outcome_of_stop
from recorder.core.money import usage
from recorder.core.money.prices import MAX_NANO, PriceKey
from recorder.core.money.token_counts import usage_of
from recorder.core.records import Json, Loop, ModelConfig, Session, Turn
from recorder.database import row_mapper, sql
from recorder.follower import redo
from recorder.journal.read import texts
from recorder.models import Repricing
from recorder.pricing import price_book
from recorder.pricing.rollups import Sums
from recorder.pricing.totals import add_up
from recorder.pubsub.invalidation import Invalidation

R = TypeVar("R", Loop, Turn, Session, ModelConfig)
STAGE = "configs"  # of a `Repricing`
BATCH_LOOPS = 200
_NAMED = {
    "model",
    "provider",
    "config_id",
    "name",
}  # the value in a config of cagent before 0.3: the agent's name
_TURN = (
    *("config_id", "agent_id", "errors", "uncached_tokens", "visible_tokens", "unreconciled"),
    *("cost_nano", "price_id", "cost_source", "unpriced"),
)
_LOOP = (
    *("config_id", "turn_errors", "has_switched", "context_tokens"),
    *("uncached_tokens", "visible_tokens", "unreconciled"),
)


@dataclass(slots=True)
class _Batch:
    """Loops of one project with their ended turns; links are records, except to the config in `old`."""

    project: int
    loops: dict[int, Loop]
    turns: dict[int, list[Turn]] = field(default_factory=dict)  # by loop
    tool_errors: Mapping[int, int] = field(default_factory=dict)  # by turn, those before its end
    agents: Mapping[int, Mapping[int, str]] = field(default_factory=dict)  # by loop and line
    configs: dict[int, ModelConfig] = field(default_factory=dict)
    by_key: dict[str, ModelConfig] = field(default_factory=dict)
    rebilled: set[int] = field(default_factory=set)  # loops
    changed: list[Turn] = field(default_factory=list)
    difference: int = 0  # nano-dollars

    def config(self, snapshot: Json) -> ModelConfig:
        """Return the config with these settings; create it if there is none."""
        key = model_configs.config_key(snapshot)
        if key not in self.by_key:
            self.add(model_configs.new_config(snapshot, self.configs.values(), len(self.configs)))
        return self.by_key[key]

    def add(self, config: ModelConfig) -> None:
        """Add a config, a new one also to the table."""
        if not config.id:
            config.id = next(sql.next_ids({"recorder_modelconfig": 1})["recorder_modelconfig"])
            row_mapper.table(ModelConfig).put([config], self.project)
        self.configs[config.id] = self.by_key[config.key] = config


def step(job: Repricing) -> Invalidation:
    """Correct the next batch of loops, or finish the job; call it within the recording transaction."""
    ids = f"SELECT id FROM recorder_looprecord WHERE id > %s ORDER BY id LIMIT {BATCH_LOOPS}"
    last = sql.read(f"SELECT MAX(id) FROM ({ids}) AS ids", job.position)[0][0]
    if last is None:
        _finish(job)
        return Invalidation(job.project_id)
    batch = _read(job, last)
    sums = Sums()
    for loop in batch.loops.values():
        _count(sums, batch, loop, -1)
    _correct(batch)
    for loop in batch.loops.values():
        _count(sums, batch, loop, 1)
    _write(batch)
    sums.write(job.project_id)
    job.position = last
    job.processed += sum(map(len, batch.turns.values()))
    job.changed += len(batch.changed)
    job.change_nano += batch.difference
    job.save()
    loops = {loop.id: loop.session.id for loop in batch.loops.values()}
    return Invalidation(job.project_id, sessions=set(loops.values()), loops=loops)


def _finish(job: Repricing) -> None:
    project = [[job.project_id]]
    sql.write("DELETE FROM recorder_spending WHERE project_id = %s AND loops = 0 AND turns = 0", project)
    unused = " AND ".join(
        f"NOT EXISTS (SELECT 1 FROM {table} r WHERE r.config_id = recorder_modelconfig.id)"
        for table in ("recorder_looprecord", "recorder_turn", "recorder_spending")
    )
    sql.write(f"DELETE FROM recorder_modelconfig WHERE project_id = %s AND {unused}", project)
    job.stage, job.finished_at = "done", datetime.now(UTC)
    job.save()


def _read(job: Repricing, last: int) -> _Batch:
    project = job.project_id
    where = (
        "JOIN recorder_session s ON s.id = r.session_id WHERE s.project_id = %s AND r.id > %s AND r.id <= %s"
    )
    loops = _records(Loop, where, project, job.position, last)
    batch = _Batch(project, {loop.id: loop for loop in loops})
    for config in _records(ModelConfig, "WHERE r.project_id = %s", project):
        batch.add(config)
    keys = sql.list_param({_pk(loop.session) for loop in loops})
    sessions = {each.id: each for each in _records(Session, f"WHERE {sql.in_list('r.id')}", keys)}
    for loop in loops:
        loop.session = sessions[_pk(loop.session)]
        loop.config = batch.configs.get(_pk(loop.config))
    of_loops = f"WHERE r.state = 'done' AND {sql.in_list('r.loop_id')}"
    for turn in _records(Turn, of_loops, sql.list_param(batch.loops)):
        turn.loop = batch.loops[_pk(turn.loop)]
        turn.config = batch.configs.get(_pk(turn.config))
        batch.turns.setdefault(turn.loop.id, []).append(turn)
    batch.tool_errors = _tool_errors(batch.loops)
    batch.agents = _agents(loop for loop in loops if loop.agent_label)
    return batch


def _records(kind: type[R], where: str, *values: sql.Value) -> list[R]:
    return cast("list[R]", row_mapper.table(kind).select(where, *values))


def _tool_errors(loops: Collection[int]) -> dict[int, int]:
    """Return the failed executions of each turn that ended before it."""
    failed = "t.state = 'failed' AND t.start_event IS NOT NULL AND t.end_event <= r.end_event"
    statement = f"""SELECT r.id, COUNT(*) FROM recorder_turn r JOIN recorder_toolcall t ON t.turn_id = r.id
                    WHERE {sql.in_list("r.loop_id")} AND r.tool_errors > 0 AND {failed} GROUP BY r.id"""
    return dict(sql.read(statement, sql.list_param(loops)))


def _agents(loops: Iterable[Loop]) -> dict[int, dict[int, str]]:
    """Return the agent that each line of loops with several agents names, by loop, if its body is kept."""
    keys = sql.list_param({loop.id for loop in loops})
    of_loops = f"FROM recorder_eventrecord r WHERE {sql.in_list('r.loop_id')}"
    loop_of: dict[int, int] = dict(sql.read(f"SELECT r.id, r.loop_id {of_loops} ORDER BY r.id", keys))
    found: dict[int, dict[int, str]] = {}
    bodies = texts(loop_of)
    for line in [line for line in loop_of if line in bodies]:
        fields = json.loads(bodies[line])
        is_switch = fields.get("type") == "AgentSwitched"
        agent = fields.get("to") if is_switch else fields.get("agent_name")
        if isinstance(agent, str) and agent:
            found.setdefault(loop_of[line], {})[line] = clean(agent, 512)
    return found


def _count(sums: Sums, batch: _Batch, loop: Loop, sign: int) -> None:
    for turn in batch.turns.get(loop.id, ()):
        sums.count(turn, loop.segment, sign)
    if loop.status not in ("pending", "running"):
        sums.count(loop, loop.segment, sign)


def _correct(batch: _Batch) -> None:
    """Set what a turn and its loop have since: configs, agents, errors and the cost by them."""
    for loop in batch.loops.values():
        before = loop.config
        loop.config = _without_agent(batch, loop)
        for turn in batch.turns.get(loop.id, ()):
            _correct_turn(batch, turn, before)
        loop.turn_errors = sum(turn.errors for turn in batch.turns.get(loop.id, ()))
        loop.has_switched = any(
            turn.config is not loop.config or turn.agent_id for turn in batch.turns.get(loop.id, ())
        )
    _rebill(batch)


def _without_agent(batch: _Batch, loop: Loop) -> ModelConfig | None:
    """Return the config of a loop without the name of its agent, which cagent's configs used to hold."""
    config = loop.config
    snapshot = config.snapshot if config is not None else None
    if loop.session.source != "cagent" or not isinstance(snapshot, dict) or set(snapshot) != _NAMED:
        return config
    return batch.config({name: value for name, value in snapshot.items() if name != "name"})


def _correct_turn(batch: _Batch, turn: Turn, before: ModelConfig | None) -> None:
    loop = turn.loop
    has_failed = bool(turn.error) and outcome_of_stop(turn.stop_reason, turn.error) == "failed"
    turn.errors = batch.tool_errors.get(turn.id, 0) + has_failed
    # A config that a loop got after the turn, from the answer of a later one, is not that of the turn.
    config = loop.config if turn.config is before or turn.config is None else turn.config
    if config is not None and turn.model and not model_configs.answers(config, turn.model, turn.provider):
        config = batch.config(model_configs.snapshot_of_answer(turn.model, turn.provider))
    turn.config = config
    if loop.agent_label:
        turn.agent_id = _agent_at(batch, turn)


def _agent_at(batch: _Batch, turn: Turn) -> str:
    """Return the agent that had taken over before a turn started, "" if it is that of the loop."""
    start = turn.start_event or turn.end_event or 0
    named = batch.agents.get(turn.loop.id, {})
    # cagent names the agent in each line; others name it when it changes.
    agent = next((agent for line, agent in reversed([*named.items()]) if line <= start), "")
    return "" if agent == turn.loop.agent_id else agent


def _rebill(batch: _Batch) -> None:
    """Bill turns again by their configs; reported costs stay."""
    turns = [turn for turns in batch.turns.values() for turn in turns]
    keys = {turn: billing.price_key_of(turn.model, turn.provider, turn.config) for turn in turns}
    rows = price_book.prices(batch.project, cast("set[PriceKey]", {*keys.values()} - {None}))
    for turn, key in keys.items():
        nano = turn.cost_nano or 0
        if billing.rebill(turn, turn.loop.config, rows.get(key, ()) if key else ()):
            batch.rebilled.add(turn.loop.id)
        if turn.cost_source == "computed" and not turn.cost_nano:
            batch.rebilled.add(turn.loop.id)  # such a call used to make a source mixed
        if (turn.cost_nano or 0) != nano:
            batch.changed.append(turn)
            batch.difference += (turn.cost_nano or 0) - nano
    for pk, of_loop in batch.turns.items():
        loop = batch.loops[pk]
        if pk in batch.rebilled and not loop.is_one_call:
            loop.uncached_tokens = min(sum(turn.uncached_tokens or 0 for turn in of_loop), MAX_NANO)
            loop.visible_tokens = min(sum(turn.visible_tokens or 0 for turn in of_loop), MAX_NANO)
            loop.unreconciled = sum(turn.unreconciled for turn in of_loop)
            size = usage.request_size(
                usage_of(of_loop[-1]), billing.convention_of_turn(of_loop[-1], loop.config)
            )
            loop.context_tokens = size


def _write(batch: _Batch) -> None:
    turns = [turn for turns in batch.turns.values() for turn in turns]
    sql.write(
        f"UPDATE recorder_turn SET {_assignments(_TURN)} WHERE id = %s",
        [
            (
                *(_pk(turn.config) or None, turn.agent_id, turn.errors, turn.uncached_tokens),
                *(turn.visible_tokens, turn.unreconciled, turn.cost_nano, turn.price, turn.cost_source),
                *(turn.unpriced, turn.id),
            )
            for turn in turns
        ],
    )
    sql.write(
        f"UPDATE recorder_looprecord SET {_assignments(_LOOP)} WHERE id = %s",
        [
            (
                *(_pk(loop.config) or None, loop.turn_errors, loop.has_switched, loop.context_tokens),
                *(loop.uncached_tokens, loop.visible_tokens, loop.unreconciled, loop.id),
            )
            for loop in batch.loops.values()
        ],
    )
    if batch.rebilled:
        billed_by_turn = [pk for pk in batch.rebilled if not batch.loops[pk].is_one_call]
        add_up("recorder_turn", "loop_id", "recorder_looprecord", billed_by_turn)
        sessions = {batch.loops[pk].session.id for pk in batch.rebilled}
        add_up("recorder_looprecord", "session_id", "recorder_session", sessions)
        _add_up_buckets(sessions)
        redo.mark(sessions)


def _add_up_buckets(sessions: Collection[int]) -> None:
    sums = "SUM(uncached_tokens), SUM(visible_tokens), SUM(unreconciled)"
    statement = f"SELECT {sums}, session_id FROM recorder_looprecord WHERE {sql.in_list('session_id')}"
    found = sql.read(f"{statement} GROUP BY session_id", sql.list_param(sessions))
    rows = [
        (min(int(uncached or 0), MAX_NANO), min(int(visible or 0), MAX_NANO), int(unreconciled), pk)
        for uncached, visible, unreconciled, pk in found
    ]
    names = ("uncached_tokens", "visible_tokens", "unreconciled")
    sql.write(f"UPDATE recorder_session SET {_assignments(names)} WHERE id = %s", rows)


def _assignments(names: Iterable[str]) -> str:
    return ", ".join(f"{name} = %s" for name in names)


def _pk(link: Loop | ModelConfig | Session | int | None) -> int:
    """Return the primary key of a link; in records read from a table, a link is its key."""
    return link if isinstance(link, int) else link.id if link else 0
