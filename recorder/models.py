"""The tables: the journal, which is the truth, and the records, which are an index over it."""

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce

from recorder.fields import JsonText

ID = 512  # characters of an id, by the protocol
ACTIVITY = ("-last_event_at", "-id")  # what lists of sessions sort on, whatever they are narrowed to


# The literal lets SQLite use the index: it does not see that a parameter is the same.
KNOWN_COST = models.Func(
    models.F("cost_nano"), template="COALESCE(%(expressions)s, -1)", output_field=models.BigIntegerField()
)


class Project(models.Model):
    """The wall between tenants: every record, URL and query starts from one."""

    slug = models.SlugField(max_length=64, unique=True)
    title = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.title or self.slug


class Membership(models.Model):
    """Who may see a project."""

    class Role(models.TextChoices):
        VIEWER = "viewer"
        MEMBER = "member"
        ADMIN = "admin"

    project = models.ForeignKey(Project, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "user"), name="one_membership"),)


class AccessToken(models.Model):
    """What a machine signs in with: `lsk_<key>_<secret>`, of which only a hash of the secret is kept."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=200)
    key = models.CharField(max_length=32, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = models.CharField(max_length=100)  # comma-separated: ingest, read
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)


class SignInLink(models.Model):
    """A one-time way in; only a hash of the secret is kept."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE)
    secret_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class Producer(models.Model):
    """One numbered stream of lines. `high` is the highest number stored with no hole below it."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="producers")
    name = models.CharField(max_length=200)
    high = models.BigIntegerField(default=-1)
    epoch = models.BigIntegerField(default=0)  # of the connection it belongs to; older ones are refused
    format = models.CharField(max_length=20, default="native")
    reading = JsonText(null=True)  # what a reader of foreign lines must remember to go on
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="one_producer"),)


class JournalEvent(models.Model):
    """One recorded line. Never changed; `consolidated_at` alone is ever set.

    `own` are the bytes that no earlier line of the producer held, `pieces` says where the others are, and
    `recorder.lines` puts them together.

    A `flush` is a producer's word that it is done: it has no line and no number, but a rebuild must see it.
    A `read` is what the foreign line after it says in native words; it has no number either.
    """

    # Without indexes of their own: each would cost every line, and nobody asks for lines by them alone.
    project = models.ForeignKey(Project, models.CASCADE, db_index=False)
    producer = models.ForeignKey(Producer, models.CASCADE, related_name="lines", db_index=False)
    seq = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=8, default="line")  # line | flush | read
    received_at = models.DateTimeField()
    size = models.IntegerField(default=0)  # bytes of the line
    pieces = models.TextField(null=True)  # noqa: DJ001  null is "the line is its own bytes"
    own = models.BinaryField(default=b"")
    consolidated_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("producer", "seq"), name="one_line"),)


class QuarantinedLine(models.Model):
    """A line that was refused: its first 64 KiB and why. Kept 7 days."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="quarantine")
    producer = models.ForeignKey(Producer, models.CASCADE)
    seq = models.BigIntegerField()
    code = models.CharField(max_length=32)
    path = models.CharField(max_length=500, blank=True)
    message = models.CharField(max_length=1000)
    raw = models.BinaryField()
    size = models.BigIntegerField()
    received_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=("project", "-id"), name="quarantine_newest"),)


class Tokens(models.Model):
    """Raw token counts in phi-core's names."""

    input_tokens = models.BigIntegerField(default=0)
    output_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    total_tokens = models.BigIntegerField(default=0)
    cache_write_1h_tokens = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class Spend(Tokens):
    """What calls cost, in nano-dollars; see `recorder.core.changes.Spend`."""

    uncached_tokens = models.BigIntegerField(null=True, default=0)
    visible_tokens = models.BigIntegerField(null=True, default=0)
    unreconciled = models.PositiveIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True)
    unpriced = models.PositiveIntegerField(default=0)
    cost_source = models.CharField(max_length=8, default="none")

    class Meta:
        abstract = True


class Price(models.Model):
    """What a model costs at a provider; see `recorder.core.prices.Price`. Rows are added, never changed:

    only `after_event` and `until_event` say which calls they are for. `list_version` is the last version of
    the price list that said the same; `edition` the first.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="prices")
    model = models.CharField(max_length=ID)
    provider = models.CharField(max_length=ID)
    is_own = models.BooleanField(default=False)
    edition = models.CharField(max_length=40, blank=True)
    list_version = models.CharField(max_length=40, blank=True)
    place = models.PositiveSmallIntegerField(default=0)  # in its edition
    valid_from = models.DateTimeField(null=True)
    daily = models.CharField(max_length=11, blank=True)
    after_event = models.BigIntegerField(default=0)
    until_event = models.BigIntegerField(null=True)
    bands = JsonText(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("project", "model", "provider", "edition", "place"),
                condition=models.Q(is_own=False),
                name="one_listed_price",
            ),
        )
        indexes = (models.Index(fields=("project", "model", "provider"), name="price_of_model"),)


class ModelConfig(models.Model):
    """See `recorder.core.changes.ModelConfig`, as for every record below."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="configs")
    key = models.CharField(max_length=64)
    model = models.CharField(max_length=ID)
    provider = models.CharField(max_length=ID)
    config_id = models.CharField(max_length=ID, blank=True)
    snapshot = JsonText(null=True)
    slot = models.PositiveSmallIntegerField(default=1)

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
    ended_at = models.DateTimeField(null=True)
    start_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("session", "ordinal"), name="one_group"),)


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
    last_event_at = models.DateTimeField(null=True)
    turns = models.PositiveIntegerField(default=0)
    tool_calls = models.PositiveIntegerField(default=0)
    errors = models.PositiveIntegerField(default=0)
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
    start_event = models.BigIntegerField(null=True)
    end_event = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("session", "loop_id", "run"), name="one_loop"),)
        indexes = (
            models.Index(fields=("loop_id", "start_event"), name="loop_latest"),
            models.Index(fields=("producer", "loop_id", "start_event"), name="loop_latest_of_producer"),
            models.Index(
                fields=("parent_loop_id",),
                condition=models.Q(parent__isnull=True, parent_loop_id__isnull=False),
                name="loops_without_parent",
            ),
        )


class Turn(Spend):
    loop = models.ForeignKey(LoopRecord, models.CASCADE, related_name="turn_records")
    ordinal = models.PositiveIntegerField()
    turn_index = models.PositiveBigIntegerField()
    triggered_by = models.CharField(max_length=20, blank=True)
    state = models.CharField(max_length=8, default="open")
    model = models.CharField(max_length=ID, blank=True)
    provider = models.CharField(max_length=ID, blank=True)
    stop_reason = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)
    said = models.CharField(max_length=200, blank=True)
    said_key = models.CharField(max_length=16, blank=True)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    tool_calls = models.PositiveIntegerField(default=0)
    tool_errors = models.PositiveIntegerField(default=0)
    config = models.ForeignKey(ModelConfig, models.PROTECT, null=True, db_index=False, related_name="+")
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
    journal = models.OneToOneField(JournalEvent, models.CASCADE, primary_key=True, db_column="id")
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
            # Events are read in recorded order, piece by piece.
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


class Spending(models.Model):
    """What a project spent in one hour with one config and agent, in one segment of the ledger.

    Calls count in the hour in which they ended, `loops`, their `errors` and the `failed` ones in that of the
    loop's end. The buckets are of calls that reconcile, `cost_nano` is of those that are `priced`.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="spending", db_index=False)
    hour = models.DateTimeField()
    config = models.ForeignKey(ModelConfig, models.CASCADE, null=True, related_name="+", db_index=False)
    agent_id = models.CharField(max_length=ID, blank=True)
    segment = models.CharField(max_length=10, default="single")
    loops = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    errors = models.BigIntegerField(default=0)
    turns = models.BigIntegerField(default=0)
    uncached_tokens = models.BigIntegerField(default=0)
    cache_read_tokens = models.BigIntegerField(default=0)
    cache_write_tokens = models.BigIntegerField(default=0)
    visible_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    priced = models.BigIntegerField(default=0)
    reported = models.BigIntegerField(default=0)
    unpriced = models.BigIntegerField(default=0)
    unreconciled = models.BigIntegerField(default=0)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                "project", "hour", Coalesce("config", 0), "agent_id", "segment", name="one_spending"
            ),
        )


class Repricing(models.Model):
    """One "reprice history": who asked for what, how far it is, and what it changed. Kept for good.

    Empty names mean every model. `position` is the last call looked at of what `stage` says.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="repricings")
    model = models.CharField(max_length=ID, blank=True)
    provider = models.CharField(max_length=ID, blank=True)
    requested_by = models.CharField(max_length=200, blank=True)
    requested_at = models.DateTimeField(auto_now_add=True)
    stage = models.CharField(max_length=8, default="turns")  # turns, loops, done
    position = models.BigIntegerField(default=0)
    looked_at = models.BigIntegerField(default=0)
    changed = models.BigIntegerField(default=0)  # calls that have another cost
    change_nano = models.BigIntegerField(default=0)  # what all changes add up to
    finished_at = models.DateTimeField(null=True)
