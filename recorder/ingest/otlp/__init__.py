"""The OTLP endpoints and the form of their bodies."""
