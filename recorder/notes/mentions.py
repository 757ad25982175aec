"""Mentions: `@name` in a note names a member of the project, who then finds it under Attention."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from recorder.models import Mention, Note
from recorder.pubsub import invalidation
from recorder.pubsub.invalidation import Invalidation

# Names of users have letters, digits and @.+-_ (Django); an address such as a@b is no mention.
NAMED = re.compile(r"(?<![\w@.+-])@([\w@.+-]{1,150})")


def members(project: int) -> Mapping[str, int]:
    """Return the members of a project: primary key by lower-case name."""
    of_project = Q(memberships__project=project) | Q(is_superuser=True)
    found = User.objects.filter(of_project, is_active=True).values_list("username", "pk").distinct()
    return {name.lower(): pk for name, pk in found}


def mentioned(text: str, names: Collection[str]) -> list[str]:
    """Return the lower-case names among `names` that a text mentions, each once.

    Punctuation that ends a sentence may follow: "@mira." mentions mira unless a member is called "mira.".
    """
    found: dict[str, None] = {}
    for match in NAMED.finditer(text):
        name = match[1].lower()
        while name and name not in names and name[-1] in ".-+_":
            name = name[:-1]
        if name in names:
            found[name] = None
    return list(found)


def save(note: Note) -> set[int]:
    """Write the mentions of a note's text, not of its author; return the users whose mentions changed."""
    names = members(note.project_id)
    wanted = {names[name] for name in mentioned(note.text, names)} - {note.user_id}
    before = set(Mention.objects.filter(note=note).values_list("user", flat=True))
    Mention.objects.filter(note=note, user__in=before - wanted).delete()
    Mention.objects.bulk_create(
        [Mention(note=note, user_id=user) for user in sorted(wanted - before)], ignore_conflicts=True
    )
    return wanted ^ before


def of_notes(notes: Collection[int]) -> set[int]:
    """Return the users whom notes mention, by the notes' primary keys."""
    return set(Mention.objects.filter(note__in=notes).values_list("user", flat=True))


def mark_read(project: int, user: int, notes: Collection[int]) -> None:
    """Mark mentions of a user as seen, and publish to the user's pages."""
    rows = Mention.objects.filter(user=user, note__in=notes, note__project=project, seen_at=None)
    if rows.update(seen_at=timezone.now()):
        invalidation.publish(Invalidation(project, people={user}))
