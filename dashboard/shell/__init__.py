"""What stands on every page: the sessions that run or wait now."""
