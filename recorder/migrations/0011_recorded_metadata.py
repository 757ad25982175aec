"""Add the metadata of recorded loops, and the tags of recorded lines, to their sessions."""

import json
from itertools import islice

from django.db import migrations

from recorder.core.content.labels import merged, reported_tags
from recorder.journal.read import texts

BATCH = 500


def add_recorded_metadata(apps, schema_editor):
    """Add the metadata of each recorded loop to its session, in the order of their starts."""
    using = schema_editor.connection.alias
    loops = apps.get_model("recorder", "LoopRecord").objects.using(using)
    sessions = apps.get_model("recorder", "Session").objects.using(using)
    labels = apps.get_model("recorder", "SessionLabel").objects.using(using)
    with_metadata = loops.filter(metadata__isnull=False)
    pks = with_metadata.order_by("session").values_list("session", flat=True).distinct()
    for pk in pks.iterator(chunk_size=BATCH):
        found = {}
        of_session = with_metadata.filter(session=pk).order_by("start_event", "pk")
        for metadata in of_session.values_list("metadata", flat=True).iterator(chunk_size=BATCH):
            found = merged(found, metadata)
        if not found:
            continue
        session = sessions.only("pk", "project").get(pk=pk)
        session.metadata = found
        session.save(update_fields=["metadata"])
        labels.bulk_create(
            labels.model(project_id=session.project_id, session_id=pk, name=f"metadata.{name}", value=value)
            for name, values in found.items()
            for value in values
        )


def add_recorded_tags(apps, schema_editor):
    """Give each session the tags of its latest SessionInfo that has any; they are in the journal alone."""
    using = schema_editor.connection.alias
    lines = apps.get_model("recorder", "EventRecord").objects.using(using)
    sessions = apps.get_model("recorder", "Session").objects.using(using)
    labels = apps.get_model("recorder", "SessionLabel").objects.using(using)
    of_sessions = lines.filter(type="SessionInfo", session__isnull=False).order_by("pk")
    found = {}
    rows = of_sessions.values_list("pk", "session").iterator(chunk_size=BATCH)
    while some := list(islice(rows, BATCH)):
        raws = texts([pk for pk, _ in some])
        for pk, session in some:
            tags = _tags(raws.get(pk, b""))
            if tags is not None:
                found[session] = reported_tags(tags)
    for pk, tags in found.items():
        session = sessions.only("pk", "project").get(pk=pk)
        session.tags = tags or None
        session.save(update_fields=["tags"])
        labels.bulk_create(
            labels.model(project_id=session.project_id, session_id=pk, name="tag", value=tag) for tag in tags
        )


def _tags(line):
    try:
        event = json.loads(line)
    except ValueError:  # pruned, or a line of a foreign format
        return None
    return event.get("tags") if isinstance(event, dict) else None


class Migration(migrations.Migration):
    dependencies = [("recorder", "0010_session_labels")]

    operations = [
        migrations.RunPython(add_recorded_metadata, migrations.RunPython.noop),
        migrations.RunPython(add_recorded_tags, migrations.RunPython.noop),
    ]
