"""The client's old name, for one release: import `loopscope_client` instead."""

import warnings

from loopscope_client import AsyncClient, Client, Status

__all__ = ["AsyncClient", "Client", "Status"]

warnings.warn(
    "recorder.client is now loopscope_client; the old name goes with the next release",
    DeprecationWarning,
    stacklevel=2,
)
