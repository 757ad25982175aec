"""The insights page: what agents do again and again, what helped after an error, what a model noted."""
