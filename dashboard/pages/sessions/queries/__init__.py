"""Database queries of the list of sessions, each part in a fixed number of queries."""

from dashboard.pages.sessions.queries.cost_scale import Scale as Scale
from dashboard.pages.sessions.queries.cost_scale import scales as scales
from dashboard.pages.sessions.queries.download import chunks as chunks
from dashboard.pages.sessions.queries.export import has_all as has_all
from dashboard.pages.sessions.queries.export import lines as lines
from dashboard.pages.sessions.queries.facets import View as View
from dashboard.pages.sessions.queries.facets import cheap_count as cheap_count
from dashboard.pages.sessions.queries.facets import menus as menus
from dashboard.pages.sessions.queries.facets import views as views
from dashboard.pages.sessions.queries.figures import figures as figures
from dashboard.pages.sessions.queries.list import dearest as dearest
from dashboard.pages.sessions.queries.list import every as every
from dashboard.pages.sessions.queries.list import matching as matching
from dashboard.pages.sessions.queries.rows import rows as rows
