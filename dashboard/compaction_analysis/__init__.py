"""Analysis of compactions: reported counts, requests before and after, savings and cost."""
