"""The tables by which sessions are found: the documents of the search index, and labels.

A document says which text is where. The words are in separate tables.
"""

from django.db import models

from recorder.models.access import Project
from recorder.models.records import Session


class SearchDocument(models.Model):
    """A searchable text, or a part of a long one. The primary key orders documents as they were recorded.

    The text of an event stays in the journal. Keys are plain numbers without constraints, so that the index
    never delays a delete; one index, by session, since each costs every document.
    """

    PROMPT, ANSWER, THINKING, TOOL_CALL, TOOL_RESULT, SYSTEM, NOTE, TITLE = range(1, 9)
    KINDS = (
        (PROMPT, "prompt"),
        (ANSWER, "answer"),
        (THINKING, "thinking"),
        (TOOL_CALL, "tool_call"),
        (TOOL_RESULT, "tool_result"),
        (SYSTEM, "system"),
        (NOTE, "note"),
        (TITLE, "title"),
    )

    project = models.ForeignKey(Project, models.CASCADE, db_index=False, related_name="+")
    session = models.BigIntegerField()
    loop = models.BigIntegerField(null=True)
    turn = models.BigIntegerField(null=True)
    event = models.BigIntegerField(null=True)  # journal id; of a note, that of its anchor
    kind = models.PositiveSmallIntegerField(choices=KINDS)
    part = models.PositiveSmallIntegerField(default=0)  # of the texts of this kind of one event
    is_gone = models.BooleanField(default=False)  # of a withdrawn loop; its words are deleted soon
    key = models.TextField(blank=True)  # a note: its id; a system prompt: its digest; a title: those indexed
    text = models.TextField(blank=True)  # of a note or title, which no journal line holds
    at = models.DateTimeField(null=True)  # of a note or title; an event has its own

    class Meta:
        indexes = (
            models.Index(fields=("session",), name="documents_of_session"),
            models.Index(fields=("project",), condition=models.Q(is_gone=True), name="documents_gone"),
        )


class SearchState(models.Model):
    """The progress of the index of a project: all its lines up to `cursor` are indexed."""

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    cursor = models.BigIntegerField(default=0)
    has_deleted = models.BooleanField(default=False)  # words of deleted text may be left in its files
    version = models.CharField(max_length=40)  # of the tokeniser; another one makes the index again


class SessionLabel(models.Model):
    """A tag or a metadata value of a session, to find it by: `name` is "tag" or "metadata.NAME".

    An index over `Session.tags` and `Session.metadata`, which `recorder.projection.store` writes with them.
    """

    project = models.ForeignKey(Project, models.CASCADE, db_index=False, related_name="+")
    session = models.ForeignKey(Session, models.CASCADE, related_name="+")
    name = models.CharField(max_length=209)
    value = models.CharField(max_length=200)

    class Meta:
        indexes = (models.Index(fields=("project", "name", "value", "session"), name="session_label"),)
