"""What the list of sessions shows, each part in a fixed number of SQL queries."""

from dashboard.sessions.queries.compared import compared as compared
from dashboard.sessions.queries.facets import Facet as Facet
from dashboard.sessions.queries.facets import View as View
from dashboard.sessions.queries.facets import facets as facets
from dashboard.sessions.queries.facets import views as views
from dashboard.sessions.queries.figures import figures as figures
from dashboard.sessions.queries.listing import every as every
from dashboard.sessions.queries.listing import matching as matching
from dashboard.sessions.queries.rows import rows as rows
from dashboard.sessions.queries.scale import scales as scales
