"""Search in all recorded text of a project: hits by session, with facets that write the query."""
