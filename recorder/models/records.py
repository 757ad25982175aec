"""The records, an index over the journal; each is explained at its change in `recorder.core.records`."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText, LineKey
from recorder.models.journal import JournalEvent, Producer
from recorder.models.pricing import ID, KNOWN_COST, Call, Price, Spend

ACTIVITY = ("-last_event_at", "-id")  # columns by which lists of sessions are sorted, under any filter

# As literals as in `KNOWN_COST`: sessions that no end was recorded of, or that wait for an approval.
UNFINISHED = models.Func(
    models.F("status"),
    models.F("waiting"),
    arg_joiner=" IN ('pending', 'running') OR ",
    output_field=models.BooleanField(),
    template="(%(expressions)s > 0)",
)


class ModelConfig(models.Model):
    project = models.ForeignKey(Project, models.CASCADE, related_name="configs")
    key = models.CharField(max_length=64)
    model = models.CharField(max_length=ID)
    provider = models.CharField(max_length=ID)
    config_id = models.CharField(max_length=ID, blank=True)
    snapshot = JsonText(null=True)
    slot = models.PositiveSmallIntegerField(default=1)
    parameter = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "key"), name="one_config"),)


class Session(Spend):
    project = models.ForeignKey(Project, models.CASCADE, related_name="sessions")
    session_id = models.CharField(max_length=ID)
    agent_id = models.CharField(max_length=ID, blank=True)
    source = models.CharField(max_length=20, default="phi-core")
    formation = JsonText(null=True)
    scope = models.CharField(max_length=12, default="ephemeral")
    title = models.CharField(max_length=200, blank=True)
    title_given = models.BooleanField(default=False)
    summary = models.TextField(blank=True)
    working_dir = models.TextField(blank=True)
    status = models.CharField(max_length=10, default="running")
    outcome = models.CharField(max_length=10, blank=True)
    created_at = models.DateTimeField()
    last_active_at = models.DateTimeField()
    last_event_at = models.DateTimeField()
    last_received_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    parent_session_id = models.CharField(max_length=ID, blank=True)
    parent_loop_id = models.CharField(max_length=ID, blank=True)
    spawn_tool_call_id = models.CharField(max_length=ID, blank=True)
    spawn_tool_name = models.CharField(max_length=ID, blank=True)
    has_spawn = models.BooleanField(default=False)
    parent = models.ForeignKey("LoopRecord", models.SET_NULL, null=True, related_name="spawned_sessions")
    head = models.ForeignKey("LoopRecord", models.SET_NULL, null=True, related_name="+")
    activity = models.CharField(max_length=300, blank=True)
    loops = models.PositiveIntegerField(default=0)
    open_loops = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    compactions = models.PositiveIntegerField(default=0)
    groups = models.PositiveIntegerField(default=0)
    sub_agents = models.PositiveIntegerField(default=0)
    waiting = models.PositiveIntegerField(default=0)
    waiting_since = models.DateTimeField(null=True)
    events = models.PositiveBigIntegerField(default=0)
    is_demo = models.BooleanField(default=False)
    tags = JsonText(null=True)
    metadata = JsonText(null=True)
    stated = JsonText(null=True)
    pruned_on = models.DateField(null=True)  # day of the last pruning of its lines; set by pruning only

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "session_id"), name="one_session"),)
        indexes = (
            models.Index(fields=("project", *ACTIVITY), name="session_activity"),
            models.Index(fields=("project", "-created_at", "-id"), name="session_created"),
            models.Index("project", KNOWN_COST.desc(), models.F("id").desc(), name="session_cost"),
            models.Index(fields=("project", "status", *ACTIVITY), name="session_status"),
            models.Index(fields=("project", "outcome", *ACTIVITY), name="session_outcome"),
            models.Index(fields=("project", "agent_id", *ACTIVITY), name="session_agent"),
            models.Index(
                fields=("project", *ACTIVITY), condition=models.Q(waiting__gt=0), name="session_waiting"
            ),
            models.Index(
                fields=("project", *ACTIVITY), condition=models.Q(groups__gt=0), name="session_evaluated"
            ),
            models.Index(
                fields=("project", *ACTIVITY), condition=models.Q(UNFINISHED), name="session_unfinished"
            ),
            models.Index(
                fields=("parent_loop_id",),
                condition=models.Q(parent__isnull=True, parent_loop_id__gt=""),
                name="sessions_without_parent",
            ),
        )


class ParallelGroupRecord(Spend):
    session = models.ForeignKey(Session, models.CASCADE, related_name="group_records")
    ordinal = models.PositiveIntegerField()
    loop_ids = JsonText()
    status = models.CharField(max_length=10, default="running")
    selected_loop_id = models.CharField(max_length=ID, blank=True)
    selected_config_index = models.BigIntegerField(null=True)
    judge = models.ForeignKey("LoopRecord", models.SET_NULL, null=True, related_name="judged_groups")
    named = JsonText()
    verdict = models.CharField(max_length=8, default="none")
    started_at = models.DateTimeField(null=True)
    started_received_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_received_at = models.DateTimeField(null=True)
    start_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("session", "ordinal"), name="one_group"),)


_WITHOUT_PARENT = models.Q(parent__isnull=True, parent_loop_id__isnull=False)


class LoopRecord(Spend):
    session = models.ForeignKey(Session, models.CASCADE, related_name="loop_records")
    loop_id = models.CharField(max_length=ID)
    run = models.PositiveIntegerField(default=1)
    producer = models.ForeignKey(Producer, models.CASCADE, db_index=False)
    agent_id = models.CharField(max_length=ID, blank=True)
    agent_label = models.CharField(max_length=ID, blank=True)
    parent = models.ForeignKey("self", models.SET_NULL, null=True, related_name="children")
    parent_loop_id = models.CharField(max_length=ID, null=True)  # noqa: DJ001  null is phi-core's "none given"
    continuation_kind = models.CharField(max_length=12, default="Initial")
    continuation_tag = models.TextField(null=True)  # noqa: DJ001  as above
    role = models.CharField(max_length=10, default="normal")
    status = models.CharField(max_length=10, default="running")
    outcome = models.CharField(max_length=10, blank=True)
    foreseen = models.CharField(max_length=10, blank=True)
    error = models.TextField(blank=True)
    rejection = models.TextField(null=True)  # noqa: DJ001  as above
    group = models.ForeignKey(ParallelGroupRecord, models.SET_NULL, null=True, related_name="branches")
    branch_index = models.PositiveIntegerField(null=True)
    is_selected = models.BooleanField(null=True)
    config = models.ForeignKey(ModelConfig, models.PROTECT, null=True)
    config_inferred = models.BooleanField(default=False)
    metadata = JsonText(null=True)
    title = models.CharField(max_length=200, blank=True)
    activity = models.CharField(max_length=300, blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ended_received_at = models.DateTimeField(null=True)
    last_event_at = models.DateTimeField(null=True)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    turn_errors = models.PositiveIntegerField(default=0)
    has_switched = models.BooleanField(default=False)
    compactions = models.PositiveIntegerField(default=0)
    waiting = models.PositiveIntegerField(default=0)
    events = models.PositiveBigIntegerField(default=0)
    late = models.PositiveBigIntegerField(default=0)
    unknown = models.PositiveBigIntegerField(default=0)
    sequence = models.PositiveBigIntegerField(default=0)
    segment = models.CharField(max_length=10, default="single")
    is_one_call = models.BooleanField(default=False)
    price = models.ForeignKey(Price, models.SET_NULL, null=True, related_name="+", db_index=False)
    duration_ms = models.BigIntegerField(null=True)
    context_tokens = models.BigIntegerField(null=True)
    title_event = models.BigIntegerField(null=True)
    start_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("session", "loop_id", "run"), name="one_loop"),)
        indexes = (
            models.Index(fields=("loop_id", "start_event"), name="loop_latest"),
            models.Index(fields=("producer", "loop_id", "start_event"), name="loop_latest_of_producer"),
            models.Index(fields=("parent_loop_id",), condition=_WITHOUT_PARENT, name="loops_without_parent"),
            models.Index(fields=("session",), condition=models.Q(has_switched=True), name="loops_switched"),
            models.Index(
                fields=("session", "-ended_at"), condition=models.Q(ended_at__isnull=False), name="loop_ends"
            ),
        )


class Turn(Call):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="turn_records")
    ordinal = models.PositiveIntegerField()
    turn_index = models.PositiveBigIntegerField()
    triggered_by = models.CharField(max_length=20, blank=True)
    state = models.CharField(max_length=8, default="open")
    model = models.CharField(max_length=ID, blank=True)
    provider = models.CharField(max_length=ID, blank=True)
    stop_reason = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    answer = models.CharField(max_length=200, blank=True, db_column="said")
    answer_key = models.CharField(max_length=16, blank=True, db_column="said_key")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    ended_received_at = models.DateTimeField(null=True)
    tool_calls = models.PositiveIntegerField(default=0)
    tool_errors = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
    config = models.ForeignKey(ModelConfig, models.PROTECT, null=True, db_index=False, related_name="+")
    agent_id = models.CharField(max_length=ID, blank=True)
    price = models.ForeignKey(Price, models.SET_NULL, null=True, related_name="+", db_index=False)
    start_event = models.BigIntegerField(null=True)
    request_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("loop", "ordinal"), name="one_turn"),)


class ToolCall(models.Model):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="tool_records")
    turn = models.ForeignKey(Turn, models.CASCADE, null=True, related_name="tool_records")
    tool_call_id = models.CharField(max_length=ID)
    tool_name = models.CharField(max_length=ID)
    state = models.CharField(max_length=8, default="running")
    summary = models.CharField(max_length=200, blank=True)
    arguments_key = models.CharField(max_length=16, blank=True)
    progress = models.CharField(max_length=500, blank=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    duration_ms = models.BigIntegerField(null=True)
    times_received = models.BooleanField(default=True)
    start_event = models.BigIntegerField(null=True)
    update_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        indexes = (models.Index(fields=("loop",), condition=models.Q(state="running"), name="tools_running"),)


class ChildLoopRef(models.Model):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="child_refs")
    tool_call_id = models.CharField(max_length=ID)
    tool_name = models.CharField(max_length=ID)
    child_loop_id = models.CharField(max_length=ID, db_index=True)
    child_session_id = models.CharField(max_length=ID, db_index=True)
    child = models.ForeignKey(LoopRecord, models.SET_NULL, null=True, related_name="spawned_by")
    certainty = models.CharField(max_length=12, default="stated")
    event = models.BigIntegerField(null=True)


class Compaction(models.Model):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="compaction_records")
    turn = models.ForeignKey(Turn, models.CASCADE, null=True)
    state = models.CharField(max_length=8, default="running")
    messages_before = models.BigIntegerField(null=True)
    messages_after = models.BigIntegerField(null=True)
    tokens_before = models.BigIntegerField(null=True)
    tokens_after = models.BigIntegerField(null=True)
    loops_compacted = models.BigIntegerField(null=True)
    content = models.CharField(max_length=8, default="none")
    summary = models.TextField(blank=True)
    block = JsonText(null=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    start_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)


class Approval(models.Model):
    session = models.ForeignKey(Session, models.CASCADE, related_name="approvals")
    loop = models.ForeignKey(LoopRecord, models.CASCADE, null=True, related_name="approvals")
    approval_id = models.CharField(max_length=ID, blank=True)
    kind = models.CharField(max_length=12, default="unknown")
    tool_call_id = models.CharField(max_length=ID, blank=True)
    command = models.TextField(blank=True)
    risk = models.CharField(max_length=100, blank=True)
    warnings = JsonText(null=True)
    options = JsonText(null=True)
    requested_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True)
    decision = models.CharField(max_length=12, blank=True)
    decision_scope = models.CharField(max_length=12, blank=True)
    reason = models.TextField(blank=True)
    inferred = models.BooleanField(default=False)
    request_event = models.BigIntegerField(null=True)
    resolve_event = models.BigIntegerField(null=True)

    class Meta:
        indexes = (
            models.Index(
                fields=("session",), condition=models.Q(resolved_at__isnull=True), name="approvals_open"
            ),
        )


class TextBlock(models.Model):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="text_blocks")
    turn = models.ForeignKey(Turn, models.CASCADE, null=True, related_name="text_blocks")
    message = models.BigIntegerField()
    part = models.PositiveIntegerField()
    kind = models.CharField(max_length=10)
    text = models.TextField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("loop", "message", "part"), name="one_block"),)


class EventRecord(models.Model):
    journal: "models.OneToOneField[JournalEvent, JournalEvent]" = LineKey(
        JournalEvent, models.CASCADE, primary_key=True, db_column="id"
    )
    session = models.ForeignKey(Session, models.CASCADE, null=True, db_index=False)
    loop = models.ForeignKey(
        LoopRecord, models.CASCADE, null=True, related_name="event_records", db_index=False
    )
    turn = models.ForeignKey(Turn, models.CASCADE, null=True, db_index=False)
    loop_key = models.CharField(max_length=ID, blank=True)
    type = models.CharField(max_length=100)
    sequence = models.BigIntegerField(null=True)
    occurred_at = models.DateTimeField(null=True)
    late = models.BooleanField(default=False)
    origin = models.CharField(max_length=4, blank=True)  # "" | told | kept | read

    class Meta:
        indexes = (
            # Events are read in recorded order, in chunks.
            models.Index(fields=("session", "journal"), name="events_of_session"),
            models.Index(fields=("loop", "journal"), name="events_of_loop"),
            models.Index(
                fields=("loop_key",), condition=models.Q(loop__isnull=True), name="orphans_by_loop_key"
            ),
        )


class Anomaly(models.Model):
    project = models.ForeignKey(Project, models.CASCADE)
    session = models.ForeignKey(Session, models.CASCADE, null=True, related_name="anomalies")
    loop = models.ForeignKey(LoopRecord, models.CASCADE, null=True)
    kind = models.CharField(max_length=24)
    text = models.CharField(max_length=500)
    at = models.DateTimeField()
    event = models.BigIntegerField(null=True)
