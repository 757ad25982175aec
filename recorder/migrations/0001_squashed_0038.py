"""All tables of the migrations 0001 to 0038 at once: an empty database needs them in seconds, not in tens of seconds.

A database that has some of them applies the rest one by one; one that has all counts this as applied.
"""

import django.db.models.deletion
import django.db.models.functions.comparison
import django.utils.timezone
import recorder.models.fields
from django.conf import settings
from django.db import migrations, models
from recorder.migrations._create_tables import CreateTables


class Migration(migrations.Migration):
    replaces = [
        ("recorder", "0001_initial"),
        ("recorder", "0002_rename_fields"),
        ("recorder", "0003_rename_read_mark"),
        ("recorder", "0004_session_times"),
        ("recorder", "0005_turn_configs"),
        ("recorder", "0006_config_parameter"),
        ("recorder", "0007_session_unfinished"),
        ("recorder", "0008_future_calls"),
        ("recorder", "0009_quarantine_by_code"),
        ("recorder", "0010_session_labels"),
        ("recorder", "0011_recorded_metadata"),
        ("recorder", "0012_price_withdrawals"),
        ("recorder", "0013_spans"),
        ("recorder", "0014_producer_machine"),
        ("recorder", "0015_waiting_spans"),
        ("recorder", "0016_refusals"),
        ("recorder", "0017_transcript_times"),
        ("recorder", "0018_transcript_lines"),
        ("recorder", "0019_search"),
        ("recorder", "0020_notes"),
        ("recorder", "0021_audit_and_deletion"),
        ("recorder", "0022_saved_views"),
        ("recorder", "0023_masking"),
        ("recorder", "0024_people"),
        ("recorder", "0025_share_links"),
        ("recorder", "0026_audit_retention"),
        ("recorder", "0027_membership_from_claim"),
        ("recorder", "0028_masking_history"),
        ("recorder", "0029_open_streams"),
        ("recorder", "0030_masked_records"),
        ("recorder", "0031_archive_and_delete_projects"),
        ("recorder", "0032_token_address_and_profile"),
        ("recorder", "0033_share_openings"),
        ("recorder", "0034_block_ledger"),
        ("recorder", "0035_index_of_lost_tokens"),
        ("recorder", "0037_ledger_gaps"),
        ("recorder", "0038_mask_counts"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name="DailyJob",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=40, unique=True)),
                        ("done_at", models.DateTimeField()),
                        ("begun_at", models.DateTimeField(null=True)),
                        ("holder", models.CharField(blank=True, max_length=100)),
                        ("held_until", models.DateTimeField(null=True)),
                        ("failures", models.PositiveIntegerField(default=0)),
                        ("try_at", models.DateTimeField(null=True)),
                        ("output", models.CharField(blank=True, db_column="said", max_length=500)),
                        ("requested_at", models.DateTimeField(db_column="asked_at", null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="LedgerRedo",
                    fields=[
                        ("session", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("is_whole", models.BooleanField(default=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="Project",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("slug", models.SlugField(max_length=64, unique=True)),
                        ("title", models.CharField(blank=True, max_length=200)),
                        ("retention_days", models.PositiveIntegerField(default=30, null=True)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("audit_days", models.PositiveIntegerField(null=True)),
                        ("record_days", models.PositiveIntegerField(null=True)),
                        ("note_days", models.PositiveIntegerField(null=True)),
                        ("archived_at", models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="LedgerState",
                    fields=[
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="recorder.project",
                            ),
                        ),
                        ("cursor", models.BigIntegerField(default=0)),
                        ("version", models.PositiveIntegerField()),
                    ],
                ),
                migrations.CreateModel(
                    name="MaskingSettings",
                    fields=[
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="masking",
                                serialize=False,
                                to="recorder.project",
                            ),
                        ),
                        ("on", recorder.models.fields.JsonText(default=list)),
                        ("off", recorder.models.fields.JsonText(default=list)),
                        ("patterns", recorder.models.fields.JsonText(default=list)),
                        ("changed_at", models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name="ProjectDeletion",
                    fields=[
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="recorder.project",
                            ),
                        ),
                        ("slug", models.CharField(max_length=64)),
                        ("requested_by", models.CharField(blank=True, max_length=200)),
                        ("user", models.BigIntegerField(null=True)),
                        ("requested_at", models.DateTimeField()),
                        ("sessions", models.BigIntegerField(default=0)),
                        ("lines", models.BigIntegerField(default=0)),
                        ("deleted", models.BigIntegerField(default=0)),
                        ("rows", models.BigIntegerField(default=0)),
                        ("finished_at", models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="SearchState",
                    fields=[
                        (
                            "project",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="recorder.project",
                            ),
                        ),
                        ("cursor", models.BigIntegerField(default=0)),
                        ("version", models.CharField(max_length=40)),
                        ("has_deleted", models.BooleanField(default=False)),
                    ],
                ),
                migrations.CreateModel(
                    name="LedgerGap",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.BigIntegerField(db_index=True)),
                        ("loop", models.BigIntegerField()),
                        ("turn", models.BigIntegerField(unique=True)),
                        ("end_event", models.BigIntegerField()),
                        ("error", models.CharField(blank=True, max_length=200)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="LedgerChain",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.BigIntegerField(db_index=True)),
                        ("loop", models.BigIntegerField()),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("is_main", models.BooleanField(default=True)),
                        ("state", recorder.models.fields.JsonText(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Invite",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "role",
                            models.CharField(
                                choices=[("viewer", "Viewer"), ("member", "Member"), ("admin", "Admin")],
                                default="member",
                                max_length=10,
                            ),
                        ),
                        ("email", models.CharField(blank=True, max_length=254)),
                        ("secret_hash", models.CharField(max_length=64, unique=True)),
                        ("made_at", models.DateTimeField()),
                        ("expires_at", models.DateTimeField()),
                        ("used_at", models.DateTimeField(blank=True, null=True)),
                        ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "made_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "used_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="invites",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Insight",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("procedure", "Procedure"),
                                    ("solution", "Error solution"),
                                    ("fact", "Fact"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("key", models.CharField(max_length=32)),
                        ("is_demo", models.BooleanField(default=False)),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("steps", recorder.models.fields.JsonText(default=list)),
                        ("about", models.CharField(blank=True, max_length=100)),
                        ("is_changed", models.BooleanField(default=False)),
                        ("head", models.CharField(blank=True, max_length=32)),
                        ("tail", models.CharField(blank=True, max_length=32)),
                        ("is_part", models.BooleanField(default=False)),
                        ("times", models.PositiveBigIntegerField(default=0)),
                        ("worked", models.PositiveBigIntegerField(default=0)),
                        ("loops", models.PositiveBigIntegerField(default=0)),
                        ("durations", recorder.models.fields.JsonText(default=dict)),
                        ("median_ms", models.BigIntegerField(null=True)),
                        ("first_at", models.DateTimeField()),
                        ("last_at", models.DateTimeField()),
                        ("dismissed_at", models.DateTimeField(null=True)),
                        ("dismissed_by", models.CharField(blank=True, max_length=200)),
                        ("statement", models.TextField(blank=True, db_column="said")),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="insights",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Deletion",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session_id", models.CharField(max_length=512)),
                        ("session", models.BigIntegerField()),
                        ("newest", models.BigIntegerField()),
                        ("requested_by", models.CharField(blank=True, max_length=200)),
                        ("requested_at", models.DateTimeField()),
                        ("loops", models.BigIntegerField(default=0)),
                        ("lines", models.BigIntegerField(default=0)),
                        ("size", models.BigIntegerField(default=0)),
                        ("dropped", models.BigIntegerField(default=0)),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="deletions",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="CallFigures",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("figures", models.CharField(max_length=32)),
                        ("request", models.CharField(max_length=32)),
                        ("at_ns", models.BigIntegerField()),
                        ("is_report", models.BooleanField()),
                        ("loop_id", models.CharField(default="", max_length=512)),
                        ("turn_index", models.BigIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="AuditPruning",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("before", models.DateTimeField()),
                        ("entries", models.BigIntegerField(default=0)),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="AuditEntry",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("at", models.DateTimeField()),
                        ("actor_kind", models.CharField(max_length=8)),
                        ("actor", models.CharField(blank=True, max_length=200)),
                        ("action", models.CharField(max_length=40)),
                        ("target", models.CharField(blank=True, max_length=512)),
                        ("before", recorder.models.fields.JsonText(null=True)),
                        ("after", recorder.models.fields.JsonText(null=True)),
                        ("address", models.CharField(blank=True, max_length=64)),
                        (
                            "project",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="AccessToken",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=200)),
                        ("key", models.CharField(max_length=32, unique=True)),
                        ("secret_hash", models.CharField(max_length=64)),
                        ("scopes", models.CharField(max_length=100)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("expires_at", models.DateTimeField(blank=True, null=True)),
                        ("last_used_at", models.DateTimeField(blank=True, null=True)),
                        ("revoked_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "last_used_from",
                            models.CharField(blank=True, db_default="", default="", max_length=64),
                        ),
                        (
                            "created_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "replaced_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="replaces",
                                to="recorder.accesstoken",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tokens",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="LedgerSum",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("day", models.DateField()),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("version", models.CharField(blank=True, max_length=200)),
                        ("model", models.CharField(blank=True, max_length=512)),
                        ("kind", models.CharField(max_length=20)),
                        ("name", models.CharField(blank=True, max_length=200)),
                        ("server", models.CharField(blank=True, max_length=200)),
                        ("calls", models.BigIntegerField(default=0)),
                        ("tokens", models.BigIntegerField(default=0)),
                        ("blocks", models.BigIntegerField(default=0)),
                        ("block_tokens", models.BigIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(default=0)),
                        ("session", models.BigIntegerField(db_index=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="LoopRecord",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0)),
                        ("output_tokens", models.BigIntegerField(default=0)),
                        ("reasoning_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("total_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_1h_tokens", models.BigIntegerField(default=0)),
                        ("uncached_tokens", models.BigIntegerField(default=0, null=True)),
                        ("visible_tokens", models.BigIntegerField(default=0, null=True)),
                        ("unreconciled", models.PositiveIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(null=True)),
                        ("unpriced", models.PositiveIntegerField(default=0)),
                        ("cost_source", models.CharField(default="none", max_length=8)),
                        ("loop_id", models.CharField(max_length=512)),
                        ("run", models.PositiveIntegerField(default=1)),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("agent_label", models.CharField(blank=True, max_length=512)),
                        ("parent_loop_id", models.CharField(max_length=512, null=True)),
                        ("continuation_kind", models.CharField(default="Initial", max_length=12)),
                        ("continuation_tag", models.TextField(null=True)),
                        ("role", models.CharField(default="normal", max_length=10)),
                        ("status", models.CharField(default="running", max_length=10)),
                        ("outcome", models.CharField(blank=True, max_length=10)),
                        ("foreseen", models.CharField(blank=True, max_length=10)),
                        ("error", models.TextField(blank=True)),
                        ("rejection", models.TextField(null=True)),
                        ("branch_index", models.PositiveIntegerField(null=True)),
                        ("is_selected", models.BooleanField(null=True)),
                        ("config_inferred", models.BooleanField(default=False)),
                        ("metadata", recorder.models.fields.JsonText(null=True)),
                        ("title", models.CharField(blank=True, max_length=200)),
                        ("activity", models.CharField(blank=True, max_length=300)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("last_event_at", models.DateTimeField(null=True)),
                        ("turns", models.PositiveIntegerField(default=0)),
                        ("tool_calls", models.PositiveIntegerField(default=0)),
                        ("errors", models.PositiveIntegerField(default=0)),
                        ("compactions", models.PositiveIntegerField(default=0)),
                        ("waiting", models.PositiveIntegerField(default=0)),
                        ("events", models.PositiveBigIntegerField(default=0)),
                        ("late", models.PositiveBigIntegerField(default=0)),
                        ("unknown", models.PositiveBigIntegerField(default=0)),
                        ("sequence", models.PositiveBigIntegerField(default=0)),
                        ("segment", models.CharField(default="single", max_length=10)),
                        ("is_one_call", models.BooleanField(default=False)),
                        ("duration_ms", models.BigIntegerField(null=True)),
                        ("context_tokens", models.BigIntegerField(null=True)),
                        ("title_event", models.BigIntegerField(null=True)),
                        ("start_event", models.BigIntegerField(null=True)),
                        ("end_event", models.BigIntegerField(null=True)),
                        ("has_switched", models.BooleanField(default=False)),
                        ("turn_errors", models.PositiveIntegerField(default=0)),
                        ("ended_received_at", models.DateTimeField(null=True)),
                        (
                            "parent",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="children",
                                to="recorder.looprecord",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ChildLoopRef",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("tool_call_id", models.CharField(max_length=512)),
                        ("tool_name", models.CharField(max_length=512)),
                        ("child_loop_id", models.CharField(db_index=True, max_length=512)),
                        ("child_session_id", models.CharField(db_index=True, max_length=512)),
                        ("certainty", models.CharField(default="stated", max_length=12)),
                        ("event", models.BigIntegerField(null=True)),
                        (
                            "child",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="spawned_by",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "loop",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="child_refs",
                                to="recorder.looprecord",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="MaskCount",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("rule", models.CharField(max_length=40)),
                        ("day", models.DateField()),
                        ("masked", models.BigIntegerField()),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="MaskingHistory",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("requested_by", models.CharField(blank=True, max_length=200)),
                        ("started_at", models.DateTimeField()),
                        ("lines", models.BigIntegerField(default=0)),
                        ("rows", models.BigIntegerField(default=0)),
                        ("rejected", models.BigIntegerField(default=0)),
                        ("counts", recorder.models.fields.JsonText(default=dict)),
                        ("finished_at", models.DateTimeField(null=True)),
                        ("records", models.BigIntegerField(db_default=0, default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Membership",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "role",
                            models.CharField(
                                choices=[("viewer", "Viewer"), ("member", "Member"), ("admin", "Admin")],
                                default="member",
                                max_length=10,
                            ),
                        ),
                        ("from_claim", models.BooleanField(default=False)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="memberships",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="memberships",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ModelConfig",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("key", models.CharField(max_length=64)),
                        ("model", models.CharField(max_length=512)),
                        ("provider", models.CharField(max_length=512)),
                        ("config_id", models.CharField(blank=True, max_length=512)),
                        ("snapshot", recorder.models.fields.JsonText(null=True)),
                        ("slot", models.PositiveSmallIntegerField(default=1)),
                        ("parameter", models.CharField(blank=True, max_length=200)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="configs",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.AddField(
                    model_name="looprecord",
                    name="config",
                    field=models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, to="recorder.modelconfig"
                    ),
                ),
                migrations.CreateModel(
                    name="Mute",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("row", models.CharField(max_length=60)),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mutes",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Note",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session_id", models.CharField(max_length=512)),
                        (
                            "target",
                            models.CharField(
                                choices=[
                                    ("session", "Session"),
                                    ("loop", "Loop"),
                                    ("turn", "Turn"),
                                    ("event", "Event"),
                                    ("evaluation", "Evaluation"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("loop_id", models.CharField(blank=True, max_length=512)),
                        ("run", models.PositiveIntegerField(default=0)),
                        ("loop", models.BigIntegerField(null=True)),
                        ("turn", models.PositiveIntegerField(null=True)),
                        ("group", models.PositiveIntegerField(null=True)),
                        ("event", models.BigIntegerField()),
                        (
                            "kind",
                            models.CharField(
                                choices=[("note", "Note"), ("score", "Score"), ("bookmark", "Bookmark")],
                                max_length=8,
                            ),
                        ),
                        ("name", models.CharField(blank=True, max_length=64)),
                        ("value", recorder.models.fields.JsonText(null=True)),
                        ("number", models.FloatField(null=True)),
                        ("text", models.TextField(blank=True)),
                        (
                            "source",
                            models.CharField(
                                choices=[("human", "People"), ("code", "Code"), ("judge", "Judges")],
                                default="human",
                                max_length=5,
                            ),
                        ),
                        ("author", models.CharField(max_length=200)),
                        ("token", models.BigIntegerField(null=True)),
                        ("given_id", models.CharField(blank=True, max_length=200)),
                        ("key", models.CharField(max_length=64, null=True)),
                        ("created_at", models.DateTimeField()),
                        ("edited_at", models.DateTimeField(null=True)),
                        ("resolved_at", models.DateTimeField(null=True)),
                        ("resolved_by", models.CharField(blank=True, max_length=200)),
                        (
                            "parent",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="replies",
                                to="recorder.note",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notes",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Mention",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("seen_at", models.DateTimeField(null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "note",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mentioned",
                                to="recorder.note",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ParallelGroupRecord",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0)),
                        ("output_tokens", models.BigIntegerField(default=0)),
                        ("reasoning_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("total_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_1h_tokens", models.BigIntegerField(default=0)),
                        ("uncached_tokens", models.BigIntegerField(default=0, null=True)),
                        ("visible_tokens", models.BigIntegerField(default=0, null=True)),
                        ("unreconciled", models.PositiveIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(null=True)),
                        ("unpriced", models.PositiveIntegerField(default=0)),
                        ("cost_source", models.CharField(default="none", max_length=8)),
                        ("ordinal", models.PositiveIntegerField()),
                        ("loop_ids", recorder.models.fields.JsonText()),
                        ("status", models.CharField(default="running", max_length=10)),
                        ("selected_loop_id", models.CharField(blank=True, max_length=512)),
                        ("selected_config_index", models.BigIntegerField(null=True)),
                        ("named", recorder.models.fields.JsonText()),
                        ("verdict", models.CharField(default="none", max_length=8)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("start_event", models.BigIntegerField(null=True)),
                        ("end_event", models.BigIntegerField(null=True)),
                        ("ended_received_at", models.DateTimeField(null=True)),
                        ("started_received_at", models.DateTimeField(null=True)),
                        (
                            "judge",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="judged_groups",
                                to="recorder.looprecord",
                            ),
                        ),
                    ],
                ),
                migrations.AddField(
                    model_name="looprecord",
                    name="group",
                    field=models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="branches",
                        to="recorder.parallelgrouprecord",
                    ),
                ),
                migrations.CreateModel(
                    name="Pin",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session_id", models.CharField(max_length=512)),
                        ("pinned_by", models.CharField(blank=True, max_length=200)),
                        ("pinned_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="pins",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Price",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("model", models.CharField(max_length=512)),
                        ("provider", models.CharField(max_length=512)),
                        ("is_own", models.BooleanField(default=False)),
                        ("edition", models.CharField(blank=True, max_length=40)),
                        ("list_version", models.CharField(blank=True, max_length=40)),
                        ("place", models.PositiveSmallIntegerField(default=0)),
                        ("valid_from", models.DateTimeField(null=True)),
                        ("daily", models.CharField(blank=True, max_length=11)),
                        ("after_event", models.BigIntegerField(default=0)),
                        ("until_event", models.BigIntegerField(null=True)),
                        ("bands", recorder.models.fields.JsonText(default=list)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("created_by", models.CharField(blank=True, max_length=200)),
                        ("withdrawn_at", models.DateTimeField(null=True)),
                        (
                            "withdrawn_by",
                            models.CharField(blank=True, db_default="", default="", max_length=200),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="prices",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.AddField(
                    model_name="looprecord",
                    name="price",
                    field=models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="recorder.price",
                    ),
                ),
                migrations.CreateModel(
                    name="Producer",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=200)),
                        ("high", models.BigIntegerField(default=-1)),
                        ("epoch", models.BigIntegerField(default=0)),
                        ("format", models.CharField(default="native", max_length=20)),
                        ("reading", recorder.models.fields.JsonText(null=True)),
                        ("is_demo", models.BooleanField(default=False)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("last_seen_at", models.DateTimeField(blank=True, null=True)),
                        ("machine", models.CharField(blank=True, max_length=100)),
                        ("deletions", models.PositiveIntegerField(db_default=0, default=0)),
                        ("dropped", models.BigIntegerField(db_default=0, default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="producers",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="OpenStream",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("stream", models.CharField(max_length=32)),
                        ("state", models.BinaryField()),
                        ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "producer",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.producer",
                            ),
                        ),
                    ],
                ),
                migrations.AddField(
                    model_name="looprecord",
                    name="producer",
                    field=models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to="recorder.producer"
                    ),
                ),
                migrations.CreateModel(
                    name="JournalEvent",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("seq", models.BigIntegerField(null=True)),
                        ("kind", models.CharField(default="line", max_length=8)),
                        ("received_at", models.DateTimeField()),
                        ("size", models.IntegerField(default=0)),
                        ("consolidated_at", models.DateTimeField(null=True)),
                        ("pruned_on", models.DateField(null=True)),
                        ("pieces", models.TextField(null=True)),
                        ("own", models.BinaryField(default=b"")),
                        ("masked", models.IntegerField(null=True)),
                        ("original", models.BinaryField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                to="recorder.project",
                            ),
                        ),
                        (
                            "producer",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="lines",
                                to="recorder.producer",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Profile",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("time_zone", models.CharField(blank=True, max_length=64)),
                        (
                            "user",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="profile",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Pruning",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("before", models.DateTimeField()),
                        ("lines", models.BigIntegerField(default=0)),
                        ("size", models.BigIntegerField(default=0)),
                        ("unconsolidated", models.BigIntegerField(default=0)),
                        ("pinned", models.BigIntegerField(default=0)),
                        ("open", models.BigIntegerField(default=0)),
                        ("needed", models.BigIntegerField(default=0)),
                        ("finished_at", models.DateTimeField()),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="prunings",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="QuarantinedLine",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("seq", models.BigIntegerField()),
                        ("code", models.CharField(max_length=32)),
                        ("path", models.CharField(blank=True, max_length=500)),
                        ("message", models.CharField(max_length=1000)),
                        ("raw", models.BinaryField()),
                        ("size", models.BigIntegerField()),
                        ("received_at", models.DateTimeField()),
                        (
                            "producer",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, to="recorder.producer"
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="quarantine",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ReadLoop",
                    fields=[
                        ("loop", models.BigIntegerField(primary_key=True, serialize=False)),
                        ("facts", models.CharField(blank=True, max_length=8)),
                        ("tries", models.PositiveSmallIntegerField(default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ReadMark",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("loop", models.BigIntegerField()),
                        ("seen_at", models.DateTimeField()),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                    options={
                        "db_table": "recorder_seen",
                    },
                ),
                migrations.CreateModel(
                    name="Refusal",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("key", models.CharField(blank=True, max_length=32)),
                        ("code", models.CharField(max_length=40)),
                        ("status", models.PositiveIntegerField()),
                        ("path", models.CharField(max_length=200)),
                        ("message", models.CharField(max_length=300)),
                        ("at", models.DateTimeField()),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="refusals",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Repricing",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("model", models.CharField(blank=True, max_length=512)),
                        ("provider", models.CharField(blank=True, max_length=512)),
                        ("requested_by", models.CharField(blank=True, max_length=200)),
                        ("requested_at", models.DateTimeField(auto_now_add=True)),
                        ("stage", models.CharField(default="turns", max_length=8)),
                        ("position", models.BigIntegerField(default=0)),
                        ("changed", models.BigIntegerField(default=0)),
                        ("change_nano", models.BigIntegerField(default=0)),
                        ("finished_at", models.DateTimeField(null=True)),
                        ("processed", models.BigIntegerField(db_column="looked_at", default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="repricings",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SavedView",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "page",
                            models.CharField(
                                choices=[
                                    ("sessions", "Sessions"),
                                    ("search", "Search"),
                                    ("attention", "Attention"),
                                    ("evaluations", "Evaluations"),
                                    ("leaderboard", "Leaderboard"),
                                    ("costs", "Costs"),
                                    ("compactions", "Compactions"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("name", models.CharField(max_length=80)),
                        ("slug", models.CharField(blank=True, max_length=80)),
                        ("query", models.TextField(blank=True)),
                        ("sort", models.CharField(blank=True, max_length=60)),
                        ("columns", models.JSONField(default=list)),
                        (
                            "visibility",
                            models.CharField(
                                choices=[("me", "Me"), ("project", "Project")], default="me", max_length=10
                            ),
                        ),
                        ("position", models.PositiveIntegerField(default=0)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("changed_at", models.DateTimeField(auto_now=True)),
                        (
                            "owner",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="saved_views",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="saved_views",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="DefaultView",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "page",
                            models.CharField(
                                choices=[
                                    ("sessions", "Sessions"),
                                    ("search", "Search"),
                                    ("attention", "Attention"),
                                    ("evaluations", "Evaluations"),
                                    ("leaderboard", "Leaderboard"),
                                    ("costs", "Costs"),
                                    ("compactions", "Compactions"),
                                ],
                                max_length=20,
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "view",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="defaults",
                                to="recorder.savedview",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ScoreDefinition",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=64)),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("number", "Number"),
                                    ("category", "Category"),
                                    ("boolean", "Yes or no"),
                                ],
                                max_length=8,
                            ),
                        ),
                        ("least", models.FloatField(null=True)),
                        ("most", models.FloatField(null=True)),
                        ("categories", recorder.models.fields.JsonText(default=list)),
                        ("meaning", models.CharField(blank=True, max_length=500)),
                        ("targets", recorder.models.fields.JsonText(default=list)),
                        ("sources", recorder.models.fields.JsonText(default=list)),
                        ("created_by", models.CharField(blank=True, max_length=200)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="score_definitions",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SearchDocument",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.BigIntegerField()),
                        ("loop", models.BigIntegerField(null=True)),
                        ("turn", models.BigIntegerField(null=True)),
                        ("event", models.BigIntegerField(null=True)),
                        (
                            "kind",
                            models.PositiveSmallIntegerField(
                                choices=[
                                    (1, "prompt"),
                                    (2, "answer"),
                                    (3, "thinking"),
                                    (4, "tool_call"),
                                    (5, "tool_result"),
                                    (6, "system"),
                                    (7, "note"),
                                    (8, "title"),
                                ]
                            ),
                        ),
                        ("part", models.PositiveSmallIntegerField(default=0)),
                        ("is_gone", models.BooleanField(default=False)),
                        ("key", models.TextField(blank=True)),
                        ("text", models.TextField(blank=True)),
                        ("at", models.DateTimeField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Session",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0)),
                        ("output_tokens", models.BigIntegerField(default=0)),
                        ("reasoning_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("total_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_1h_tokens", models.BigIntegerField(default=0)),
                        ("uncached_tokens", models.BigIntegerField(default=0, null=True)),
                        ("visible_tokens", models.BigIntegerField(default=0, null=True)),
                        ("unreconciled", models.PositiveIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(null=True)),
                        ("unpriced", models.PositiveIntegerField(default=0)),
                        ("cost_source", models.CharField(default="none", max_length=8)),
                        ("session_id", models.CharField(max_length=512)),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("source", models.CharField(default="phi-core", max_length=20)),
                        ("formation", recorder.models.fields.JsonText(null=True)),
                        ("scope", models.CharField(default="ephemeral", max_length=12)),
                        ("title", models.CharField(blank=True, max_length=200)),
                        ("title_given", models.BooleanField(default=False)),
                        ("summary", models.TextField(blank=True)),
                        ("working_dir", models.TextField(blank=True)),
                        ("status", models.CharField(default="running", max_length=10)),
                        ("outcome", models.CharField(blank=True, max_length=10)),
                        ("created_at", models.DateTimeField()),
                        ("last_active_at", models.DateTimeField()),
                        ("last_event_at", models.DateTimeField()),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("parent_session_id", models.CharField(blank=True, max_length=512)),
                        ("parent_loop_id", models.CharField(blank=True, max_length=512)),
                        ("spawn_tool_call_id", models.CharField(blank=True, max_length=512)),
                        ("spawn_tool_name", models.CharField(blank=True, max_length=512)),
                        ("has_spawn", models.BooleanField(default=False)),
                        ("activity", models.CharField(blank=True, max_length=300)),
                        ("loops", models.PositiveIntegerField(default=0)),
                        ("open_loops", models.PositiveIntegerField(default=0)),
                        ("turns", models.PositiveIntegerField(default=0)),
                        ("tool_calls", models.PositiveIntegerField(default=0)),
                        ("errors", models.PositiveIntegerField(default=0)),
                        ("compactions", models.PositiveIntegerField(default=0)),
                        ("groups", models.PositiveIntegerField(default=0)),
                        ("sub_agents", models.PositiveIntegerField(default=0)),
                        ("waiting", models.PositiveIntegerField(default=0)),
                        ("waiting_since", models.DateTimeField(null=True)),
                        ("events", models.PositiveBigIntegerField(default=0)),
                        ("is_demo", models.BooleanField(default=False)),
                        ("pruned_on", models.DateField(null=True)),
                        ("last_received_at", models.DateTimeField()),
                        ("metadata", recorder.models.fields.JsonText(null=True)),
                        ("tags", recorder.models.fields.JsonText(null=True)),
                        (
                            "head",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "parent",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="spawned_sessions",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sessions",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.AddField(
                    model_name="parallelgrouprecord",
                    name="session",
                    field=models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="group_records",
                        to="recorder.session",
                    ),
                ),
                migrations.AddField(
                    model_name="looprecord",
                    name="session",
                    field=models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="loop_records",
                        to="recorder.session",
                    ),
                ),
                migrations.CreateModel(
                    name="Approval",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("approval_id", models.CharField(blank=True, max_length=512)),
                        ("kind", models.CharField(default="unknown", max_length=12)),
                        ("tool_call_id", models.CharField(blank=True, max_length=512)),
                        ("command", models.TextField(blank=True)),
                        ("risk", models.CharField(blank=True, max_length=100)),
                        ("warnings", recorder.models.fields.JsonText(null=True)),
                        ("options", recorder.models.fields.JsonText(null=True)),
                        ("requested_at", models.DateTimeField()),
                        ("resolved_at", models.DateTimeField(null=True)),
                        ("decision", models.CharField(blank=True, max_length=12)),
                        ("decision_scope", models.CharField(blank=True, max_length=12)),
                        ("reason", models.TextField(blank=True)),
                        ("inferred", models.BooleanField(default=False)),
                        ("request_event", models.BigIntegerField(null=True)),
                        ("resolve_event", models.BigIntegerField(null=True)),
                        (
                            "loop",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="approvals",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "session",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="approvals",
                                to="recorder.session",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Anomaly",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("kind", models.CharField(max_length=24)),
                        ("text", models.CharField(max_length=500)),
                        ("at", models.DateTimeField()),
                        ("event", models.BigIntegerField(null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, to="recorder.project"
                            ),
                        ),
                        (
                            "loop",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "session",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="anomalies",
                                to="recorder.session",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SessionLabel",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("name", models.CharField(max_length=209)),
                        ("value", models.CharField(max_length=200)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "session",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.session",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ShareLink",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("session", "Session"),
                                    ("evaluation", "Evaluation"),
                                    ("view", "Saved view"),
                                    ("comparison", "Comparison"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("target", models.BigIntegerField()),
                        ("query", models.TextField(blank=True)),
                        ("secret_hash", models.CharField(max_length=64, unique=True)),
                        ("password", models.CharField(blank=True, max_length=128)),
                        ("event", models.BigIntegerField(null=True)),
                        ("is_masked", models.BooleanField(default=True)),
                        ("has_notes", models.BooleanField(default=False)),
                        ("created_at", models.DateTimeField()),
                        ("expires_at", models.DateTimeField()),
                        ("revoked_at", models.DateTimeField(null=True)),
                        ("openings", models.PositiveIntegerField(default=0)),
                        ("opened_at", models.DateTimeField(null=True)),
                        (
                            "created_by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="share_links",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ShareOpening",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("who", models.CharField(max_length=200)),
                        ("at", models.DateTimeField()),
                        (
                            "link",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.sharelink",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SignIn",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session_key", models.CharField(max_length=40, unique=True)),
                        ("address", models.CharField(blank=True, max_length=64)),
                        ("agent", models.CharField(blank=True, max_length=300)),
                        ("began_at", models.DateTimeField()),
                        ("seen_at", models.DateTimeField()),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="signins",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SignInLink",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("secret_hash", models.CharField(max_length=64, unique=True)),
                        ("expires_at", models.DateTimeField()),
                        ("used_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SpanUnit",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("state", recorder.models.fields.JsonText(null=True)),
                        ("is_open", models.BooleanField(default=False)),
                        ("last_received_at", models.DateTimeField()),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SpanTree",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.CharField(max_length=32)),
                        ("start_ns", models.BigIntegerField()),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "unit",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.spanunit",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SpanTrace",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("trace", models.CharField(max_length=32)),
                        ("seen", models.BinaryField(default=b"")),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "unit",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.spanunit",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="SpanKey",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("key", models.CharField(max_length=40)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                        (
                            "unit",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.spanunit",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Spending",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("span", models.CharField(max_length=4)),
                        ("start", models.DateTimeField()),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("segment", models.CharField(default="single", max_length=10)),
                        ("loops", models.BigIntegerField(default=0)),
                        ("failed", models.BigIntegerField(default=0)),
                        ("errors", models.BigIntegerField(default=0)),
                        ("turns", models.BigIntegerField(default=0)),
                        ("uncached_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("visible_tokens", models.BigIntegerField(default=0)),
                        ("reasoning_tokens", models.BigIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(default=0)),
                        ("priced", models.BigIntegerField(default=0)),
                        ("reported", models.BigIntegerField(default=0)),
                        ("unpriced", models.BigIntegerField(default=0)),
                        ("unreconciled", models.BigIntegerField(default=0)),
                        (
                            "config",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.modelconfig",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="spending",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Tombstone",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("kind", models.CharField(max_length=8)),
                        ("key", models.CharField(max_length=32)),
                        (
                            "deletion",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tombstones",
                                to="recorder.deletion",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="TranscriptLine",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.CharField(max_length=512)),
                        ("key", models.CharField(max_length=24)),
                        ("request", models.CharField(blank=True, max_length=24)),
                        ("kind", models.CharField(max_length=6)),
                        ("at", models.BigIntegerField()),
                        ("loop", models.CharField(blank=True, max_length=512)),
                        (
                            "producer",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.producer",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="TranscriptTime",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.CharField(max_length=32)),
                        ("first_ns", models.BigIntegerField()),
                        ("newest_ns", models.BigIntegerField()),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Turn",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0)),
                        ("output_tokens", models.BigIntegerField(default=0)),
                        ("reasoning_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("total_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_1h_tokens", models.BigIntegerField(default=0)),
                        ("uncached_tokens", models.BigIntegerField(default=0, null=True)),
                        ("visible_tokens", models.BigIntegerField(default=0, null=True)),
                        ("unreconciled", models.PositiveIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(null=True)),
                        ("unpriced", models.PositiveIntegerField(default=0)),
                        ("cost_source", models.CharField(default="none", max_length=8)),
                        ("ordinal", models.PositiveIntegerField()),
                        ("turn_index", models.PositiveBigIntegerField()),
                        ("triggered_by", models.CharField(blank=True, max_length=20)),
                        ("state", models.CharField(default="open", max_length=8)),
                        ("model", models.CharField(blank=True, max_length=512)),
                        ("provider", models.CharField(blank=True, max_length=512)),
                        ("stop_reason", models.CharField(blank=True, max_length=40)),
                        ("error", models.TextField(blank=True)),
                        ("started_at", models.DateTimeField()),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("tool_calls", models.PositiveIntegerField(default=0)),
                        ("tool_errors", models.PositiveIntegerField(default=0)),
                        ("start_event", models.BigIntegerField(null=True)),
                        ("request_event", models.BigIntegerField(null=True)),
                        ("end_event", models.BigIntegerField(null=True)),
                        ("answer", models.CharField(blank=True, db_column="said", max_length=200)),
                        ("answer_key", models.CharField(blank=True, db_column="said_key", max_length=16)),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("errors", models.PositiveIntegerField(default=0)),
                        ("ended_received_at", models.DateTimeField(null=True)),
                        (
                            "config",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="recorder.modelconfig",
                            ),
                        ),
                        (
                            "loop",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="turn_records",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "price",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="recorder.price",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="ToolCall",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("tool_call_id", models.CharField(max_length=512)),
                        ("tool_name", models.CharField(max_length=512)),
                        ("state", models.CharField(default="running", max_length=8)),
                        ("summary", models.CharField(blank=True, max_length=200)),
                        ("arguments_key", models.CharField(blank=True, max_length=16)),
                        ("progress", models.CharField(blank=True, max_length=500)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("duration_ms", models.BigIntegerField(null=True)),
                        ("times_received", models.BooleanField(default=True)),
                        ("start_event", models.BigIntegerField(null=True)),
                        ("update_event", models.BigIntegerField(null=True)),
                        ("end_event", models.BigIntegerField(null=True)),
                        (
                            "loop",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tool_records",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "turn",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tool_records",
                                to="recorder.turn",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="TextBlock",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("message", models.BigIntegerField()),
                        ("part", models.PositiveIntegerField()),
                        ("kind", models.CharField(max_length=10)),
                        ("text", models.TextField()),
                        (
                            "loop",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="text_blocks",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "turn",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="text_blocks",
                                to="recorder.turn",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Compaction",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("state", models.CharField(default="running", max_length=8)),
                        ("messages_before", models.BigIntegerField(null=True)),
                        ("messages_after", models.BigIntegerField(null=True)),
                        ("tokens_before", models.BigIntegerField(null=True)),
                        ("tokens_after", models.BigIntegerField(null=True)),
                        ("loops_compacted", models.BigIntegerField(null=True)),
                        ("content", models.CharField(default="none", max_length=8)),
                        ("summary", models.TextField(blank=True)),
                        ("block", recorder.models.fields.JsonText(null=True)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("start_event", models.BigIntegerField(null=True)),
                        ("end_event", models.BigIntegerField(null=True)),
                        (
                            "loop",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="compaction_records",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "turn",
                            models.ForeignKey(
                                null=True, on_delete=django.db.models.deletion.CASCADE, to="recorder.turn"
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="WaitingSpans",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("token", models.BigIntegerField()),
                        ("is_demo", models.BooleanField(default=False)),
                        ("received_at", models.DateTimeField()),
                        ("size", models.BigIntegerField()),
                        ("lines", models.BinaryField()),
                        ("address", models.CharField(blank=True, db_default="", default="", max_length=64)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="EventRecord",
                    fields=[
                        (
                            "journal",
                            recorder.models.fields.LineKey(
                                db_column="id",
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                serialize=False,
                                to="recorder.journalevent",
                            ),
                        ),
                        ("loop_key", models.CharField(blank=True, max_length=512)),
                        ("type", models.CharField(max_length=100)),
                        ("sequence", models.BigIntegerField(null=True)),
                        ("occurred_at", models.DateTimeField(null=True)),
                        ("late", models.BooleanField(default=False)),
                        ("origin", models.CharField(blank=True, max_length=4)),
                        (
                            "loop",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="event_records",
                                to="recorder.looprecord",
                            ),
                        ),
                        (
                            "session",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                to="recorder.session",
                            ),
                        ),
                        (
                            "turn",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                to="recorder.turn",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="InsightEvidence",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("loop", models.BigIntegerField()),
                        ("events", recorder.models.fields.JsonText(default=list)),
                        ("times", models.PositiveIntegerField(default=1)),
                        ("worked", models.PositiveIntegerField(default=0)),
                        ("text", models.CharField(blank=True, max_length=300)),
                        (
                            "insight",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="evidence",
                                to="recorder.insight",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("insight", "loop"), name="one_evidence")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LedgerCall",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.BigIntegerField()),
                        ("loop", models.BigIntegerField(db_index=True)),
                        ("turn", models.BigIntegerField(unique=True)),
                        ("number", models.PositiveIntegerField()),
                        ("end_event", models.BigIntegerField()),
                        ("ranges", recorder.models.fields.JsonText()),
                        ("kinds", recorder.models.fields.JsonText()),
                        ("known", models.BigIntegerField()),
                        ("is_recorded", models.BooleanField()),
                        ("compacted", models.BooleanField(default=False)),
                        ("verdict", models.CharField(max_length=16)),
                        ("prefix_blocks", models.PositiveIntegerField()),
                        ("prefix_tokens", models.BigIntegerField()),
                        ("expected_read", models.BigIntegerField(null=True)),
                        ("lost_tokens", models.BigIntegerField(default=0)),
                        ("idle_s", models.FloatField(default=0)),
                        ("life_s", models.PositiveIntegerField(null=True)),
                        ("reason", models.CharField(blank=True, max_length=60)),
                        (
                            "chain",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="calls",
                                to="recorder.ledgerchain",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            models.Index(fields=["session", "end_event"], name="ledger_calls_of_session")
                        ],
                        "constraints": [
                            models.UniqueConstraint(fields=("chain", "number"), name="one_ledger_call")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LedgerBlock",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("session", models.BigIntegerField(db_index=True)),
                        ("number", models.PositiveIntegerField()),
                        ("kind", models.CharField(max_length=20)),
                        ("name", models.CharField(blank=True, max_length=200)),
                        ("detail", models.CharField(blank=True, max_length=200)),
                        ("server", models.CharField(blank=True, max_length=200)),
                        ("key", models.CharField(max_length=16)),
                        ("tool_call_id", models.CharField(blank=True, max_length=512)),
                        ("bytes", models.BigIntegerField()),
                        ("tokens", models.BigIntegerField()),
                        ("tokens_source", models.CharField(max_length=9)),
                        ("first_call", models.PositiveIntegerField()),
                        ("last_call", models.PositiveIntegerField(null=True)),
                        ("left_by", models.CharField(blank=True, max_length=10)),
                        ("event", models.BigIntegerField(null=True)),
                        ("place", models.IntegerField(default=-1)),
                        (
                            "chain",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="blocks",
                                to="recorder.ledgerchain",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("chain", "number"), name="one_ledger_block")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LedgerDirtyDay",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("day", models.DateField()),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(fields=("project", "day"), name="one_dirty_day")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="LedgerDay",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                            ),
                        ),
                        ("day", models.DateField()),
                        ("agent_id", models.CharField(blank=True, max_length=512)),
                        ("version", models.CharField(blank=True, max_length=200)),
                        ("model", models.CharField(blank=True, max_length=512)),
                        ("kind", models.CharField(max_length=20)),
                        ("name", models.CharField(blank=True, max_length=200)),
                        ("server", models.CharField(blank=True, max_length=200)),
                        ("calls", models.BigIntegerField(default=0)),
                        ("tokens", models.BigIntegerField(default=0)),
                        ("blocks", models.BigIntegerField(default=0)),
                        ("block_tokens", models.BigIntegerField(default=0)),
                        ("cost_nano", models.BigIntegerField(default=0)),
                        ("sessions", models.BigIntegerField(default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="recorder.project",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [models.Index(fields=["project", "day"], name="ledger_days")],
                    },
                ),
                migrations.AddIndex(
                    model_name="insight",
                    index=models.Index(fields=["project", "-last_at", "-id"], name="insight_newest"),
                ),
                migrations.AddIndex(
                    model_name="insight",
                    index=models.Index(fields=["project", "head"], name="insight_head"),
                ),
                migrations.AddIndex(
                    model_name="insight",
                    index=models.Index(fields=["project", "tail"], name="insight_tail"),
                ),
                migrations.AddConstraint(
                    model_name="insight",
                    constraint=models.UniqueConstraint(
                        fields=("project", "key", "is_demo"), name="one_insight"
                    ),
                ),
                migrations.AddIndex(
                    model_name="deletion",
                    index=models.Index(
                        condition=models.Q(("finished_at__isnull", True)),
                        fields=["project"],
                        name="open_deletions",
                    ),
                ),
                migrations.AddIndex(
                    model_name="callfigures",
                    index=models.Index(fields=["project", "figures", "at_ns"], name="calls_by_figures"),
                ),
                migrations.AddIndex(
                    model_name="callfigures",
                    index=models.Index(
                        condition=models.Q(("request", ""), _negated=True),
                        fields=["project", "request"],
                        name="calls_by_request",
                    ),
                ),
                migrations.AddIndex(
                    model_name="auditentry",
                    index=models.Index(fields=["project", "-id"], name="audit_newest"),
                ),
                migrations.AddIndex(
                    model_name="ledgersum",
                    index=models.Index(fields=["project", "day", "kind"], name="ledger_sums_of_day"),
                ),
                migrations.AddIndex(
                    model_name="ledgersum",
                    index=models.Index(
                        condition=models.Q(("kind", "miss"), ("tokens__gt", 0)),
                        fields=["project", "day", "session", "name", "calls", "tokens", "cost_nano"],
                        name="ledger_sums_lost",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="maskcount",
                    constraint=models.UniqueConstraint(
                        fields=("project", "rule", "day"), name="one_mask_count"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="membership",
                    constraint=models.UniqueConstraint(fields=("project", "user"), name="one_membership"),
                ),
                migrations.AddConstraint(
                    model_name="modelconfig",
                    constraint=models.UniqueConstraint(fields=("project", "key"), name="one_config"),
                ),
                migrations.AddConstraint(
                    model_name="mute",
                    constraint=models.UniqueConstraint(fields=("user", "row"), name="one_mute"),
                ),
                migrations.AddIndex(
                    model_name="note",
                    index=models.Index(fields=["project", "session_id", "event"], name="notes_of_session"),
                ),
                migrations.AddIndex(
                    model_name="note",
                    index=models.Index(
                        fields=["project", "name", "number", "session_id"], name="notes_by_score"
                    ),
                ),
                migrations.AddIndex(
                    model_name="note",
                    index=models.Index(fields=["project", "kind", "session_id"], name="notes_by_kind"),
                ),
                migrations.AddConstraint(
                    model_name="note",
                    constraint=models.UniqueConstraint(fields=("project", "key"), name="one_note_of_key"),
                ),
                migrations.AddConstraint(
                    model_name="mention",
                    constraint=models.UniqueConstraint(fields=("user", "note"), name="one_mention"),
                ),
                migrations.AddConstraint(
                    model_name="pin",
                    constraint=models.UniqueConstraint(fields=("project", "session_id"), name="one_pin"),
                ),
                migrations.AddIndex(
                    model_name="price",
                    index=models.Index(fields=["project", "model", "provider"], name="price_of_model"),
                ),
                migrations.AddConstraint(
                    model_name="price",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("is_own", False)),
                        fields=("project", "model", "provider", "edition", "place"),
                        name="one_listed_price",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="producer",
                    constraint=models.UniqueConstraint(fields=("project", "name"), name="one_producer"),
                ),
                migrations.AddConstraint(
                    model_name="openstream",
                    constraint=models.UniqueConstraint(
                        fields=("project", "stream", "producer"), name="one_open_stream"
                    ),
                ),
                migrations.AddIndex(
                    model_name="journalevent",
                    index=models.Index(
                        condition=models.Q(("consolidated_at__isnull", False), ("pruned_on__isnull", True)),
                        fields=["project", "producer", "received_at"],
                        name="lines_to_prune",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="journalevent",
                    constraint=models.UniqueConstraint(fields=("producer", "seq"), name="one_line"),
                ),
                migrations.AddIndex(
                    model_name="quarantinedline",
                    index=models.Index(fields=["project", "-id"], name="quarantine_newest"),
                ),
                migrations.AddIndex(
                    model_name="quarantinedline",
                    index=models.Index(
                        fields=["project", "code", "-id", "producer", "received_at"],
                        name="quarantine_by_code",
                    ),
                ),
                migrations.AddIndex(
                    model_name="readloop",
                    index=models.Index(
                        condition=models.Q(("facts", "wanted")),
                        fields=["project", "loop"],
                        name="facts_wanted",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="readmark",
                    constraint=models.UniqueConstraint(fields=("user", "loop"), name="seen_once"),
                ),
                migrations.AddConstraint(
                    model_name="refusal",
                    constraint=models.UniqueConstraint(fields=("project", "key", "code"), name="one_refusal"),
                ),
                migrations.AddConstraint(
                    model_name="savedview",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("visibility", "project")),
                        fields=("project", "page", "name"),
                        name="one_project_view",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="savedview",
                    constraint=models.UniqueConstraint(
                        condition=models.Q(("visibility", "me")),
                        fields=("project", "page", "owner", "name"),
                        name="one_view_of_mine",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="defaultview",
                    constraint=models.UniqueConstraint(
                        fields=("user", "project", "page"), name="one_default_view"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="scoredefinition",
                    constraint=models.UniqueConstraint(
                        fields=("project", "name"), name="one_score_definition"
                    ),
                ),
                migrations.AddIndex(
                    model_name="searchdocument",
                    index=models.Index(fields=["session"], name="documents_of_session"),
                ),
                migrations.AddIndex(
                    model_name="searchdocument",
                    index=models.Index(
                        condition=models.Q(("is_gone", True)), fields=["project"], name="documents_gone"
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(fields=["project", "-last_event_at", "-id"], name="session_activity"),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(fields=["project", "-created_at", "-id"], name="session_created"),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        models.F("project"),
                        models.OrderBy(
                            models.Func(
                                models.F("cost_nano"),
                                output_field=models.BigIntegerField(),
                                template="COALESCE(%(expressions)s, -1)",
                            ),
                            descending=True,
                        ),
                        models.OrderBy(models.F("id"), descending=True),
                        name="session_cost",
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        fields=["project", "status", "-last_event_at", "-id"], name="session_status"
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        fields=["project", "outcome", "-last_event_at", "-id"], name="session_outcome"
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        fields=["project", "agent_id", "-last_event_at", "-id"], name="session_agent"
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        condition=models.Q(("waiting__gt", 0)),
                        fields=["project", "-last_event_at", "-id"],
                        name="session_waiting",
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        condition=models.Q(("groups__gt", 0)),
                        fields=["project", "-last_event_at", "-id"],
                        name="session_evaluated",
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        condition=models.Q(("parent__isnull", True), ("parent_loop_id__gt", "")),
                        fields=["parent_loop_id"],
                        name="sessions_without_parent",
                    ),
                ),
                migrations.AddIndex(
                    model_name="session",
                    index=models.Index(
                        condition=models.Q(
                            models.Func(
                                models.F("status"),
                                models.F("waiting"),
                                arg_joiner=" IN ('pending', 'running') OR ",
                                output_field=models.BooleanField(),
                                template="(%(expressions)s > 0)",
                            )
                        ),
                        fields=["project", "-last_event_at", "-id"],
                        name="session_unfinished",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="session",
                    constraint=models.UniqueConstraint(fields=("project", "session_id"), name="one_session"),
                ),
                migrations.AddConstraint(
                    model_name="parallelgrouprecord",
                    constraint=models.UniqueConstraint(fields=("session", "ordinal"), name="one_group"),
                ),
                migrations.AddIndex(
                    model_name="looprecord",
                    index=models.Index(fields=["loop_id", "start_event"], name="loop_latest"),
                ),
                migrations.AddIndex(
                    model_name="looprecord",
                    index=models.Index(
                        fields=["producer", "loop_id", "start_event"], name="loop_latest_of_producer"
                    ),
                ),
                migrations.AddIndex(
                    model_name="looprecord",
                    index=models.Index(
                        condition=models.Q(("parent__isnull", True), ("parent_loop_id__isnull", False)),
                        fields=["parent_loop_id"],
                        name="loops_without_parent",
                    ),
                ),
                migrations.AddIndex(
                    model_name="looprecord",
                    index=models.Index(
                        condition=models.Q(("has_switched", True)), fields=["session"], name="loops_switched"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="looprecord",
                    constraint=models.UniqueConstraint(fields=("session", "loop_id", "run"), name="one_loop"),
                ),
                migrations.AddIndex(
                    model_name="approval",
                    index=models.Index(
                        condition=models.Q(("resolved_at__isnull", True)),
                        fields=["session"],
                        name="approvals_open",
                    ),
                ),
                migrations.AddIndex(
                    model_name="sessionlabel",
                    index=models.Index(fields=["project", "name", "value", "session"], name="session_label"),
                ),
                migrations.AddIndex(
                    model_name="sharelink",
                    index=models.Index(fields=["project", "kind", "target"], name="links_of_record"),
                ),
                migrations.AddConstraint(
                    model_name="shareopening",
                    constraint=models.UniqueConstraint(fields=("link", "who"), name="opening_noted_once"),
                ),
                migrations.AddIndex(
                    model_name="spanunit",
                    index=models.Index(
                        condition=models.Q(("is_open", True)),
                        fields=["project", "last_received_at"],
                        name="open_units",
                    ),
                ),
                migrations.AddIndex(
                    model_name="spantree",
                    index=models.Index(fields=["project", "session", "start_ns"], name="span_trees"),
                ),
                migrations.AddConstraint(
                    model_name="spantrace",
                    constraint=models.UniqueConstraint(fields=("project", "trace"), name="one_trace"),
                ),
                migrations.AddConstraint(
                    model_name="spankey",
                    constraint=models.UniqueConstraint(fields=("project", "key"), name="one_span_key"),
                ),
                migrations.AddConstraint(
                    model_name="spending",
                    constraint=models.UniqueConstraint(
                        models.F("project"),
                        models.F("span"),
                        models.F("start"),
                        django.db.models.functions.comparison.Coalesce("config", 0),
                        models.F("agent_id"),
                        models.F("segment"),
                        name="one_spending",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="tombstone",
                    constraint=models.UniqueConstraint(
                        fields=("project", "kind", "key"), name="one_tombstone"
                    ),
                ),
                migrations.AddIndex(
                    model_name="transcriptline",
                    index=models.Index(
                        condition=models.Q(("loop", "")),
                        fields=["project", "session", "-at"],
                        name="history_of_session",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="transcriptline",
                    constraint=models.UniqueConstraint(
                        fields=("project", "key", "request", "session"), name="one_transcript_line"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="transcripttime",
                    constraint=models.UniqueConstraint(
                        fields=("project", "session"), name="one_transcript_time"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="turn",
                    constraint=models.UniqueConstraint(fields=("loop", "ordinal"), name="one_turn"),
                ),
                migrations.AddIndex(
                    model_name="toolcall",
                    index=models.Index(
                        condition=models.Q(("state", "running")), fields=["loop"], name="tools_running"
                    ),
                ),
                migrations.AddConstraint(
                    model_name="textblock",
                    constraint=models.UniqueConstraint(fields=("loop", "message", "part"), name="one_block"),
                ),
                migrations.AddIndex(
                    model_name="eventrecord",
                    index=models.Index(fields=["session", "journal"], name="events_of_session"),
                ),
                migrations.AddIndex(
                    model_name="eventrecord",
                    index=models.Index(fields=["loop", "journal"], name="events_of_loop"),
                ),
                migrations.AddIndex(
                    model_name="eventrecord",
                    index=models.Index(
                        condition=models.Q(("loop__isnull", True)),
                        fields=["loop_key"],
                        name="orphans_by_loop_key",
                    ),
                ),
            ]
        )
    ]
