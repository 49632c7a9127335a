"""What runs in the process of one Netron: given as text to ``python -c MODEL HOST FOLDER``, never imported.

The port goes to stdout. The end of stdin, which also comes when a kernel is killed, ends the process and its folder.

Netron reports usage when it takes itself for a release, and asks another machine for the reader's country before it
shows a model. Here it is told that it is none (version 0.0.0), and browsers are told that the page may talk to nobody
but this server. Source: netron 9.3.3, ``browser.js`` and ``server.py``.
"""

from __future__ import annotations

import http.server
import shutil
import sys

import netron
import netron.server

POLICY = "connect-src 'self'"


def keep_to_this_machine() -> None:
    """No usage reports, and no request of the page to anywhere else."""
    netron.server.__version__ = "0.0.0"
    handler = http.server.BaseHTTPRequestHandler
    end_headers = handler.end_headers

    def with_policy(self: http.server.BaseHTTPRequestHandler) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        end_headers(self)

    handler.end_headers = with_policy  # type: ignore[method-assign]


if __name__ == "__main__":
    model, host, folder = sys.argv[1:]
    keep_to_this_machine()
    print(netron.serve(model, address=(host, 0))[1], flush=True)
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
