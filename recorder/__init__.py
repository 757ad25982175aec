"""The recorder: lines in, records out; no HTML."""

# `loopscope_client.__version__` is the same: two distributions, one release.
__version__ = "0.3.0"
