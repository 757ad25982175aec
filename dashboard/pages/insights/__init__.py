"""The insights page: repeated procedures, solutions of errors, and facts extracted by a model."""
