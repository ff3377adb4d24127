"""Serve a relay with uvicorn until the process is stopped."""

from __future__ import annotations

import socket

import uvicorn

from mdrr.errors import ProtocolError
from mdrr.securesum.transport.relay import Relay, create_relay


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to an address; port 0 takes any free one."""
    try:
        return socket.create_server((host, port), backlog=1024)
    except OSError as error:
        raise ProtocolError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def serve(relay: Relay, bound: socket.socket) -> None:
    """Answer requests on a bound socket."""
    config = uvicorn.Config(
        create_relay(relay), log_level="warning", access_log=False, timeout_keep_alive=120
    )
    uvicorn.Server(config).run(sockets=[bound])
