"""The Django project: pages, live panels and the read API over what the recorder recorded."""
