"""Records what an agent written by hand does; needs the standard library only, and no settings.

    from recorder.client import Client

Calls return at once and never raise: lines wait on disk until the server has stored them (docs/client.md).
"""

from recorder.client.aio import AsyncClient
from recorder.client.client import Client, Status

__all__ = ["AsyncClient", "Client", "Status"]
