"""Usage and cost that a query selects, summed over recorded turns and loops."""
