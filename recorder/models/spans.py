"""The states of readers of spans and transcripts between lines, and spans not yet in the journal.

All but the waiting spans is derived from the journal, and again by a rebuild.
"""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.journal import Producer
from recorder.models.pricing import ID


class SpanUnit(models.Model):
    """The state of `recorder.core.formats.otlp.unit` for one trace, or for several that belong together."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    state = JsonText(null=True)
    is_open = models.BooleanField(default=False)  # a loop may go on: after silence it is aborted
    last_received_at = models.DateTimeField()
    # Lines that changed no record, if they have no loop; see recorder.journal.spans.without_record.
    unrecorded_spans = models.IntegerField(null=True)
    unrecorded_token = models.BigIntegerField(default=0, db_default=0)  # primary key; 0: not known
    unrecorded_sender = models.CharField(max_length=200, blank=True, default="", db_default="")
    unrecorded_names = models.CharField(max_length=4000, blank=True, default="", db_default="")  # one a line

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "last_received_at"), condition=models.Q(is_open=True), name="open_units"
            ),
            # Covers the groups by sender: the rows themselves have their state.
            models.Index(
                fields=(
                    *("project", "last_received_at", "unrecorded_token", "unrecorded_sender"),
                    "unrecorded_spans",
                ),
                condition=models.Q(unrecorded_spans__isnull=False),
                name="units_without_a_loop",
            ),
        )


class SpanTrace(models.Model):
    """The unit of a trace, and what was received of it. `unit` is null while it has nothing but noise.

    `seen` has 14 bytes a span: its id and the fingerprint of its line.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    trace = models.CharField(max_length=32)
    unit = models.ForeignKey(SpanUnit, models.CASCADE, null=True, related_name="+")
    seen = models.BinaryField(default=b"")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "trace"), name="one_trace"),)


class SpanKey(models.Model):
    """The unit of an id that joins traces: of a response, a tool call, a conversation."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=40)  # a letter and a hash
    unit = models.ForeignKey(SpanUnit, models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "key"), name="one_span_key"),)


class SpanTree(models.Model):
    """A recorded tree of loops of a unit: when it began, by runtime and session.

    A transcript finds here the trees that it covers. `session` is a hash of the runtime and its session id.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    session = models.CharField(max_length=32)
    start_ns = models.BigIntegerField()
    unit = models.ForeignKey(SpanUnit, models.CASCADE, related_name="+")

    class Meta:
        indexes = (models.Index(fields=("project", "session", "start_ns"), name="span_trees"),)


class TranscriptTime(models.Model):
    """The time that the transcript of a session covers: from its first to its newest line."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    session = models.CharField(max_length=32)  # as of SpanTree
    first_ns = models.BigIntegerField()
    newest_ns = models.BigIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "session"), name="one_transcript_time"),)


class CallFigures(models.Model):
    """A model call as a transcript records it, or as telemetry reports its cost.

    `figures` is a hash of the session, the model and the tokens. The calls of both sources are matched by the
    id of the request, else by figures and time.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    figures = models.CharField(max_length=32)
    request = models.CharField(max_length=32)  # a hash of session and request id; "" without an id
    at_ns = models.BigIntegerField()  # when the answer was complete
    is_report = models.BooleanField()
    loop_id = models.CharField(max_length=512, default="")  # of a transcript: the turn
    turn_index = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True)  # reported; of a turn: the one that it was given

    class Meta:
        indexes = (
            models.Index(fields=("project", "figures", "at_ns"), name="calls_by_figures"),
            models.Index(
                fields=("project", "request"), condition=~models.Q(request=""), name="calls_by_request"
            ),
            models.Index(
                fields=("project", "loop_id"), condition=models.Q(is_report=False), name="calls_by_loop"
            ),
        )


class WaitingSpans(models.Model):
    """Lines of an OTLP body that is acknowledged and not yet read. Reading it deletes the row.

    One that cannot be read is set aside (`recorder/ingest/commit/unreadable_spans.py`) and only read again
    by a command.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    token = models.BigIntegerField()  # primary key of the access token; it may be gone
    address = models.CharField(max_length=64, blank=True, default="", db_default="")  # of the sender
    is_demo = models.BooleanField(default=False)
    received_at = models.DateTimeField()
    size = models.BigIntegerField()  # of the lines, in bytes
    lines = models.BinaryField()  # joined by line feeds
    begun = models.IntegerField(default=0, db_default=0)  # by how many processes reading it was begun
    set_aside_at = models.DateTimeField(null=True)
    fault = models.CharField(max_length=300, blank=True, default="", db_default="")  # why it is set aside


class TranscriptLine(models.Model):
    """A line of a session by the key of `recorder.core.formats.transcripts.repeats`.

    `loop` is the id of the loop in which it is recorded, "" if the session has it as history.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    producer = models.ForeignKey(Producer, models.CASCADE, related_name="+")
    session = models.CharField(max_length=ID)
    key = models.CharField(max_length=24)
    request = models.CharField(max_length=24, blank=True)
    kind = models.CharField(max_length=6)  # answer | side | other
    at = models.BigIntegerField()  # microseconds since 1970
    loop = models.CharField(max_length=ID, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("project", "key", "request", "session"), name="one_transcript_line"
            ),
        )
        indexes = (
            models.Index(
                fields=("project", "session", "-at"), condition=models.Q(loop=""), name="history_of_session"
            ),
        )
