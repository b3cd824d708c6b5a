"""The command line in a subprocess that has no network: a connection beyond this machine raises OSError."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import socket, sys
def local_only(connect):
    def guarded(self, address):
        if self.family != getattr(socket, "AF_UNIX", None) and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"no network in a conformance test (connection to {address})")
        return connect(self, address)
    return guarded
socket.socket.connect = local_only(socket.socket.connect)
socket.socket.connect_ex = local_only(socket.socket.connect_ex)
from iclr26_core.cli import main
sys.exit(main(sys.argv[1:]))
"""


def iclr26(out: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the finished command ``iclr26 <arguments>``, run without a network into this output folder."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "ICLR26_OUT": str(out), "ICLR26_TRACK": "none"}
    return subprocess.run([sys.executable, "-c", CODE, *arguments], env=environment, capture_output=True, text=True)
