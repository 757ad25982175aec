"""The journal, the source of truth: producers and their lines, byte for byte."""

from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID


class Producer(models.Model):
    """One numbered stream of lines. `high` is the highest number stored with no hole below it."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="producers")
    name = models.CharField(max_length=200)
    high = models.BigIntegerField(default=-1)
    epoch = models.BigIntegerField(default=0)  # of the connection it belongs to; older ones are refused
    format = models.CharField(max_length=20, default="native")
    reading = JsonText(null=True)  # state of the reader of foreign lines
    is_demo = models.BooleanField(default=False)
    machine = models.CharField(max_length=100, blank=True)  # name of the sender's computer
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="one_producer"),)


class JournalEvent(models.Model):
    """One recorded line. A database trigger rejects changes (`recorder.journal.immutability`).

    Only two updates are permitted: `consolidated_at` is set once, and pruning replaces the body and sets the
    day.

    `own` are the bytes that no earlier line of the producer had, `pieces` addresses the others, and
    `recorder.journal.read` restores the line. Of a pruned line `own` is its fingerprint.

    A `flush` marks the end of a producer's stream: it has no line and no number, but a rebuild needs it. A
    `read` is the translation of the foreign line after it into native events; it has no number either.
    """

    # Without indexes of their own: each would cost every line, and no query filters by them alone.
    project = models.ForeignKey(Project, models.CASCADE, db_index=False)
    producer = models.ForeignKey(Producer, models.CASCADE, related_name="lines", db_index=False)
    seq = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=8, default="line")  # line | flush | read
    received_at = models.DateTimeField()
    size = models.IntegerField(default=0)  # bytes of the line
    # Before the bytes: SQLite reads a row up to the last column that a query needs.
    consolidated_at = models.DateTimeField(null=True)
    pruned_on = models.DateField(null=True)
    pieces = models.TextField(null=True)  # noqa: DJ001  null is "the line is its own bytes"
    own = models.BinaryField(default=b"")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("producer", "seq"), name="one_line"),)
        indexes = (
            # A line is not in it when it is inserted, so it costs ingest nothing.
            models.Index(
                fields=("project", "producer", "received_at"),
                condition=models.Q(consolidated_at__isnull=False, pruned_on__isnull=True),
                name="lines_to_prune",
            ),
        )


class Pin(models.Model):
    """A session whose bodies retention keeps, by its name: a rebuild creates the rows of sessions again."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="pins", db_index=False)
    session_id = models.CharField(max_length=ID)
    pinned_by = models.CharField(max_length=200, blank=True)
    pinned_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "session_id"), name="one_pin"),)


class Pruning(models.Model):
    """One run of pruning: what was deleted, and how many lines stayed for which reason. Never deleted."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="prunings")
    before = models.DateTimeField()  # lines received before this were examined
    lines = models.BigIntegerField(default=0)
    size = models.BigIntegerField(default=0)  # bytes that these lines had
    unconsolidated = models.BigIntegerField(default=0)
    pinned = models.BigIntegerField(default=0)
    open = models.BigIntegerField(default=0)
    needed = models.BigIntegerField(default=0)  # sources of lines that stay
    finished_at = models.DateTimeField()


class QuarantinedLine(models.Model):
    """A rejected line: its first 64 KiB and the reason. Kept for 7 days."""

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
        indexes = (
            models.Index(fields=("project", "-id"), name="quarantine_newest"),
            # Covers the groups by reason: the rows themselves have up to 64 KiB of the line.
            models.Index(
                fields=("project", "code", "-id", "producer", "received_at"), name="quarantine_by_code"
            ),
        )
