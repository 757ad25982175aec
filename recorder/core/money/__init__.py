"""Token buckets, prices and billing."""
