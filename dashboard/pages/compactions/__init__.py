"""Pages of compactions: the list, and the comparison of the context before and after one."""
