"""Creates many tables in one step of a migration."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class CreateTables(Operation):
    """Creates the tables of models as they are after all `operations`: of their fields, indexes and constraints.

    Django makes the classes of all related models again after each operation, which takes a time that is
    quadratic in the number of models. Here they are made once.
    """

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Add the models to the state."""
        state.__dict__.pop("apps", None)  # made again by the next access
        for operation in self.operations:
            operation.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Create the tables; the foreign keys of PostgreSQL are added at the end of the migration."""
        for name in self._names():
            model = to_state.apps.get_model(app_label, name)
            if self.allow_migrate_model(schema_editor.connection.alias, model):
                schema_editor.create_model(model)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        """Drop the tables."""
        for name in reversed(self._names()):
            model = from_state.apps.get_model(app_label, name)
            if self.allow_migrate_model(schema_editor.connection.alias, model):
                schema_editor.delete_model(model)

    def describe(self) -> str:
        """Return what `migrate --plan` prints."""
        return f"Create {len(self._names())} tables"

    def _names(self) -> list[str]:
        return [each.name for each in self.operations if isinstance(each, CreateModel)]
