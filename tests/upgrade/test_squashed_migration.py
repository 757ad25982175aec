"""The squashed migration makes the tables that the migrations before it make one after another."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from recorder.migrations._create_tables import CreateTables

SQUASHED = ("recorder", "0001_squashed_0038")
LAST = "0038_mask_counts"  # of those that it replaces


def models_after(loader, name):
    """Return each model's fields and options after a migration, in an order that says nothing."""
    state = loader.project_state(("recorder", name))
    found = {}
    for (app, model), each in state.models.items():
        if app == "recorder":
            fields = {field: value.deconstruct()[1:] for field, value in each.fields.items()}
            options = {key: _sorted(value) for key, value in each.options.items() if value not in ([], ())}
            found[model] = (fields, options, each.bases)
    return found


def _sorted(value):
    return sorted(value, key=repr) if isinstance(value, list | tuple) else value


def test_its_models_are_those_of_the_migrations_that_it_replaces():
    one_by_one = MigrationLoader(None, replace_migrations=False)
    squashed = one_by_one.disk_migrations[SQUASHED]

    wanted = models_after(one_by_one, LAST)

    assert wanted, "else this compares nothing"
    assert models_after(MigrationLoader(None), SQUASHED[1]) == wanted
    assert [name for _, name in squashed.replaces] == [
        name
        for app, name in sorted(one_by_one.disk_migrations)
        if app == "recorder" and name <= LAST and name != SQUASHED[1]
    ]
    assert [type(each) for each in squashed.operations] == [CreateTables]


def test_a_database_with_some_of_them_applies_the_rest_one_by_one(db, monkeypatch):
    applied = {("recorder", "0001_initial"): None}
    monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: applied)
    executor = MigrationExecutor(connection)

    plan = executor.migration_plan([("recorder", LAST)])
    names = [migration.name for migration, _ in plan if migration.app_label == "recorder"]

    assert SQUASHED[1] not in names
    assert "0002_rename_fields" in names
    assert "0001_initial" not in names
