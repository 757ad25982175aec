"""A recorded session as spans of OpenTelemetry, by its conventions for generative AI."""
