"""Spans that are read together, derived from the journal and again by a rebuild; and those not yet in it."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText


class SpanUnit(models.Model):
    """The state of `recorder.core.formats.otlp.unit` for one trace, or for several that belong together."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    state = JsonText(null=True)
    is_open = models.BooleanField(default=False)  # a loop may go on: after silence it is aborted
    last_received_at = models.DateTimeField()

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "last_received_at"), condition=models.Q(is_open=True), name="open_units"
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


class WaitingSpans(models.Model):
    """Lines of an OTLP body that is acknowledged and not yet read. Reading it deletes the row."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    token = models.BigIntegerField()  # primary key of the access token; it may be gone
    is_demo = models.BooleanField(default=False)
    received_at = models.DateTimeField()
    size = models.BigIntegerField()  # of the lines, in bytes
    lines = models.BinaryField()  # joined by line feeds
