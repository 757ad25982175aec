"""Database queries of the search page."""

from dashboard.pages.search_text.queries.counts import Counts as Counts
from dashboard.pages.search_text.queries.counts import counts as counts
from dashboard.pages.search_text.queries.download import HEADER as HEADER
from dashboard.pages.search_text.queries.download import chunks as chunks
from dashboard.pages.search_text.queries.hits_by_kind import newer as newer
from dashboard.pages.search_text.queries.hits_by_kind import newest as newest
from dashboard.pages.search_text.queries.results import lag as lag
from dashboard.pages.search_text.queries.results import results as results
from dashboard.pages.search_text.queries.wider import wider as wider
