"""The costs page: what was spent, by whom, on what, at which prices."""
