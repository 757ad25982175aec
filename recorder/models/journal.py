"""The journal, the source of truth: producers and their lines, byte for byte."""

from django.db import models
from django.utils import timezone

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
    # How many sessions with lines of it were deleted; and how many numbers have no line because of that.
    deletions = models.PositiveIntegerField(default=0, db_default=0)
    dropped = models.BigIntegerField(default=0, db_default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="one_producer"),)


class JournalEvent(models.Model):
    """One recorded line. A database trigger rejects changes (`recorder.journal.immutability`).

    Four updates are permitted: `consolidated_at` is set once; pruning replaces the body and sets the day;
    while a session is being deleted, a line that repeats bytes of it is encoded without it; and while the
    history of a project is being masked, lines of it are masked.

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
    masked = models.IntegerField(null=True)  # number of masks in the line; null is none
    # Keyed hash of the line as it was received, if masking changed it: a repetition is recognised by it.
    original = models.BinaryField(null=True)

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


class MaskingSettings(models.Model):
    """A project's changes of the masking rules; without a row the definite rules of ours hold.

    Written by `recorder.masking.project_rules` alone, which checks it.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="masking")
    on = JsonText(default=list)  # names of candidate rules
    off = JsonText(default=list)  # names of definite rules
    patterns = JsonText(default=list)  # the project's own: objects with name, pattern, is_on
    changed_at = models.DateTimeField()


class OpenStream(models.Model):
    """The deltas of a loop whose message has not ended: what of their text waits for the next one, encrypted.

    Written by `recorder.journal.streams`. `stream` is a hash of the loop's id.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    producer = models.ForeignKey(Producer, models.CASCADE, related_name="+")
    stream = models.CharField(max_length=32)
    state = models.BinaryField()
    changed_at = models.DateTimeField(default=timezone.now)  # the last delta that was received

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("project", "stream", "producer"), name="one_open_stream"),
        )


class MaskCount(models.Model):
    """The values that a rule masked on a day (UTC) in a project's lines; see `recorder.masking.counts`."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    rule = models.CharField(max_length=40)
    day = models.DateField()
    masked = models.BigIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "rule", "day"), name="one_mask_count"),)


class MaskingHistory(models.Model):
    """A run that masks what is stored already; while it runs `finished_at` is null. Never deleted itself."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    requested_by = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField()
    lines = models.BigIntegerField(default=0)  # changed ones
    rows = models.BigIntegerField(default=0)  # rows written anew, also since they copied from these lines
    rejected = models.BigIntegerField(default=0)  # lines in quarantine that were changed
    records = models.BigIntegerField(default=0, db_default=0)  # masked in place, as bodies were pruned
    counts = JsonText(default=dict)  # masked values by rule
    finished_at = models.DateTimeField(null=True)


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
