"""Every address there is, except health, the ingest doors and the sockets (asgi.py)."""

from django.urls import path, register_converter
from django.urls.converters import IntConverter

from dashboard.api.app import api
from dashboard.notifications import views as notifications
from dashboard.pages.account import views as account
from dashboard.pages.attention import views as attention
from dashboard.pages.compactions import views as compactions
from dashboard.pages.costs import views as costs
from dashboard.pages.demo import views as demo
from dashboard.pages.evaluations import views as evaluations
from dashboard.pages.insights import views as insights
from dashboard.pages.integrity import views as integrity
from dashboard.pages.leaderboard import views as leaderboard
from dashboard.pages.search import views as find
from dashboard.pages.session import as_of
from dashboard.pages.session import views as loops
from dashboard.pages.session.events import attachments
from dashboard.pages.session.navigation import views
from dashboard.pages.sessions import views as sessions
from dashboard.pages.settings import views as projectsettings
from dashboard.pages.welcome import views as welcome
from dashboard.server.metrics import metrics
from dashboard.shell import views as shell
from dashboard.web import errors


class Key(IntConverter):
    """A primary key: no number that a column cannot hold."""

    regex = "[0-9]{1,18}"


register_converter(Key, "key")

handler400, handler500 = errors.senseless, errors.broken

urlpatterns = [
    path("", shell.home, name="home"),
    path("signin", account.signin, name="signin"),
    path("signin/<str:secret>", account.link, name="signin-link"),
    path("signout", account.signout, name="signout"),
    path("theme", account.theme, name="theme"),
    path("p/<slug:slug>/find", find.find, name="find"),
    path("worker.js", notifications.worker, name="worker"),
    path("notifications/now", notifications.now, name="notifications-now"),
    path("notifications/mute", notifications.mute, name="notifications-mute"),
    path("p/<slug:slug>/sessions", sessions.index, name="sessions"),
    path("p/<slug:slug>/sessions/compare", sessions.compare, name="sessions-compare"),
    path("p/<slug:slug>/sessions/<key:pk>", loops.session, name="session"),
    path("p/<slug:slug>/sessions/<key:pk>/pin", loops.pin, name="session-pin"),
    path("p/<slug:slug>/sessions/<key:pk>/step", as_of.step, name="session-step"),
    path("p/<slug:slug>/sessions/<key:pk>/jump", views.jump, name="session-jump"),
    path("p/<slug:slug>/sessions/<key:pk>/search", views.search, name="session-search"),
    path("p/<slug:slug>/sessions/<key:pk>/loops/<key:loop>", loops.loop, name="loop"),
    path("p/<slug:slug>/sessions/<key:pk>/loops/<key:loop>/deltas", loops.loop_deltas, name="loop-deltas"),
    path(
        "p/<slug:slug>/sessions/<key:pk>/loops/<key:loop>/turns/<key:turn>/calls",
        loops.turn_calls,
        name="turn-calls",
    ),
    path(
        "p/<slug:slug>/sessions/<key:pk>/loops/<key:loop>/turns/<key:turn>/passage",
        loops.turn_passage,
        name="turn-passage",
    ),
    path("p/<slug:slug>/sessions/<key:pk>/loops/<key:loop>/record", loops.loop_record, name="loop-record"),
    path(
        "p/<slug:slug>/sessions/<key:pk>/compactions/<key:compaction>", compactions.detail, name="compaction"
    ),
    path("p/<slug:slug>/events/<key:event>/compaction", compactions.of_event, name="compaction-of"),
    path("p/<slug:slug>/compactions", compactions.index, name="compactions"),
    path("p/<slug:slug>/events/<key:pk>", loops.event, name="event"),
    path("p/<slug:slug>/events/<key:pk>/raw", loops.event_raw, name="event-raw"),
    path("p/<slug:slug>/events/<key:pk>/image", attachments.event_image, name="event-image"),
    path("p/<slug:slug>/events/<key:pk>/text", attachments.event_text, name="event-text"),
    path("p/<slug:slug>/attention", attention.index, name="attention"),
    path("p/<slug:slug>/attention/seen", attention.mark_seen, name="attention-seen"),
    path("p/<slug:slug>/evaluations", evaluations.index, name="evaluations"),
    path("p/<slug:slug>/evaluations/<key:pk>", evaluations.detail, name="evaluation"),
    path("p/<slug:slug>/leaderboard", leaderboard.index, name="leaderboard"),
    path("p/<slug:slug>/costs", costs.index, name="costs"),
    path("p/<slug:slug>/costs.csv", costs.as_csv, name="costs-csv"),
    path("p/<slug:slug>/costs/accounts", costs.accounts, name="costs-accounts"),
    path("p/<slug:slug>/costs/prices", costs.set_price, name="costs-price"),
    path("p/<slug:slug>/costs/reprice", costs.reprice, name="costs-reprice"),
    path("p/<slug:slug>/insights", insights.index, name="insights"),
    path("p/<slug:slug>/insights/consolidate", insights.consolidate, name="insights-consolidate"),
    path("p/<slug:slug>/insights/<key:pk>/dismiss", insights.dismiss, name="insight-dismiss"),
    path("p/<slug:slug>/insights/<key:pk>/restore", insights.restore, name="insight-restore"),
    path("p/<slug:slug>/integrity", integrity.index, name="integrity"),
    path("p/<slug:slug>/welcome", welcome.welcome, name="welcome"),
    path("p/<slug:slug>/welcome/token", welcome.make_token, name="welcome-token"),
    path("p/<slug:slug>/demo", demo.play, name="demo-play"),
    path("p/<slug:slug>/demo/remove", demo.remove, name="demo-remove"),
    path("p/<slug:slug>/settings", projectsettings.settings, name="settings"),
    path("p/<slug:slug>/settings/title", projectsettings.rename, name="settings-rename"),
    path("p/<slug:slug>/settings/retention", projectsettings.retention, name="settings-retention"),
    path("p/<slug:slug>/settings/tokens", projectsettings.make_token, name="settings-token"),
    path(
        "p/<slug:slug>/settings/tokens/<slug:key>/revoke",
        projectsettings.revoke_token,
        name="settings-revoke",
    ),
    path("api/v1/", api.urls),
    path("metrics", metrics, name="metrics"),
]
