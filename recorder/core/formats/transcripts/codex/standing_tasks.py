"""The last tasks of a thread that were not undone: what undoes some makes the next one a branch."""

from __future__ import annotations

from typing import cast

from recorder.core.formats.base import Fields, object_field, text_field
from recorder.core.formats.transcripts.fields import UNDONE
from recorder.core.records import Json

TASKS_MAX = 200  # tasks that may be undone


class StandingTasks:
    """The loops of the tasks, oldest first, at most `TASKS_MAX`."""

    def __init__(self, stored: Fields) -> None:
        self._loops = cast("list[str]", stored.get("standing") or [])
        self._undone = object_field(stored, "undone")  # `above`: the loop that goes on; {} if it is the last

    def dump(self) -> Fields:
        return {"standing": cast("Json", self._loops), "undone": self._undone}

    def begin(self, loop: str) -> Fields:
        """Add a loop; return what its start says if it takes the place of undone tasks."""
        above, is_branch = text_field(self._undone, "above"), bool(self._undone)
        self._undone, self._loops = {}, [*self._loops, loop][-TASKS_MAX:]
        return {"continuation_kind": UNDONE, "parent_loop_id": above or None} if is_branch else {}

    def undo(self, count: int) -> None:
        """Undo the last `count` tasks, at least one."""
        self._loops = self._loops[:-count]
        self._undone = {"above": self._loops[-1] if self._loops else ""}
