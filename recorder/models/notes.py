"""Notes, scores and bookmarks of people, programs and judges, and the definitions of scores.

They are not derived from the journal. A rebuild, pruning and the withdrawal of loops leave them: they name
their target by session id, loop id and run, and by the number of the event from which on they stand.
"""

from django.conf import settings
from django.db import models

from recorder.models.access import Project
from recorder.models.fields import JsonText
from recorder.models.pricing import ID

NAME = 64  # characters of the name of a score


class ScoreDefinition(models.Model):
    """A score that a project gives: what it takes, what it means, on which targets and by whom."""

    class Kind(models.TextChoices):
        NUMBER = "number", "Number"
        CATEGORY = "category", "Category"
        BOOLEAN = "boolean", "Yes or no"

    project = models.ForeignKey(Project, models.CASCADE, related_name="score_definitions", db_index=False)
    name = models.CharField(max_length=NAME)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    least = models.FloatField(null=True)  # of a number, both inclusive
    most = models.FloatField(null=True)
    categories = JsonText(default=list)
    meaning = models.CharField(max_length=500, blank=True)
    targets = JsonText(default=list)  # kinds of targets; empty is "all"
    sources = JsonText(default=list)  # human, code, judge; empty is "all"
    created_by = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "name"), name="one_score_definition"),)


class Note(models.Model):
    """A note, a score or a bookmark on a target, or a reply to a note.

    `loop` is the primary key that the loop had, `turn` its position in the loop from 0, `group` the ordinal
    of the evaluation in its session. `event` is the anchor: as of an earlier event the entry does not stand.
    """

    class Kind(models.TextChoices):
        NOTE = "note", "Note"
        SCORE = "score", "Score"
        BOOKMARK = "bookmark", "Bookmark"

    class Target(models.TextChoices):
        SESSION = "session", "Session"
        LOOP = "loop", "Loop"
        TURN = "turn", "Turn"
        EVENT = "event", "Event"
        EVALUATION = "evaluation", "Evaluation"

    class Source(models.TextChoices):
        HUMAN = "human", "People"
        CODE = "code", "Code"
        JUDGE = "judge", "Judges"

    project = models.ForeignKey(Project, models.CASCADE, related_name="notes", db_index=False)
    session_id = models.CharField(max_length=ID)
    target = models.CharField(max_length=10, choices=Target.choices)
    loop_id = models.CharField(max_length=ID, blank=True)
    run = models.PositiveIntegerField(default=0)
    loop = models.BigIntegerField(null=True)
    turn = models.PositiveIntegerField(null=True)
    group = models.PositiveIntegerField(null=True)
    event = models.BigIntegerField()
    kind = models.CharField(max_length=8, choices=Kind.choices)
    name = models.CharField(max_length=NAME, blank=True)
    value = JsonText(null=True)  # a number, a category or a boolean
    number = models.FloatField(null=True)  # of `value`: numbers, and 1 or 0 for yes or no
    text = models.TextField(blank=True)
    source = models.CharField(max_length=5, choices=Source.choices, default=Source.HUMAN)
    author = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    token = models.BigIntegerField(null=True)  # of the program that wrote it
    given_id = models.CharField(max_length=200, blank=True)  # the sender's own id of the entry
    key = models.CharField(max_length=64, null=True)  # noqa: DJ001  of what exists once: scores, bookmarks
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="replies")
    created_at = models.DateTimeField()
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "key"), name="one_note_of_key"),)
        indexes = (
            models.Index(fields=("project", "session_id", "event"), name="notes_of_session"),
            models.Index(fields=("project", "name", "number", "session_id"), name="notes_by_score"),
            models.Index(fields=("project", "kind", "session_id"), name="notes_by_kind"),
        )


class NoteRevision(models.Model):
    """The state of an entry before a change, as of the event `until` and of earlier ones."""

    note = models.ForeignKey(Note, models.CASCADE, related_name="revisions", db_index=False)
    until = models.BigIntegerField()  # newest event of the session before the change
    value = JsonText(null=True)
    number = models.FloatField(null=True)
    text = models.TextField(blank=True)
    edited_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.CharField(max_length=200, blank=True)
    changed_by = models.CharField(max_length=200, blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=("note", "until"), name="one_note_revision"),)


class Mention(models.Model):
    """A member whom a note names; it stands under Attention until they have seen it."""

    note = models.ForeignKey(Note, models.CASCADE, related_name="mentioned")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "note"), name="one_mention"),)
