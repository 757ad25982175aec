"""The query language of search boxes, lists, saved views, the read API and the command line.

All of it is pure; `dashboard.query_conditions` turns nodes into database conditions.
"""

from dashboard.query_language.errors import QueryError as QueryError
from dashboard.query_language.parser import parse as parse
from dashboard.query_language.printer import print_query as print_query
