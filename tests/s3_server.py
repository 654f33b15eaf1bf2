"""An S3 server on loopback, and a way to it that tests cut and hint."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

from cluster_processes import free_port

KEY, SECRET = "AKIAQUITEUNGUESSABLE", "averysecretkeythatnobodymaywrite"


def settings(port: int) -> dict[str, str]:
    """What a client needs to know, as environment variables."""
    return {
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_DEFAULT_REGION": "us-east-1",
        # the package tries again by itself
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


class Server:
    """moto's S3 server as a process of its own; what it stores is in its memory."""

    def __init__(self, log: Path) -> None:
        self.port = free_port()
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env=os.environ | {"PYTHONWARNINGS": "ignore"},
            )
        until = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/moto-api/", timeout=5):
                    return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > until:
                    self.kill()
                    raise RuntimeError(f"the S3 server did not start: {log.read_text()}") from None
                time.sleep(0.05)

    def kill(self) -> None:
        """End it as a power failure would."""
        self._process.kill()
        self._process.wait()


class Road:
    """Passes bytes to and from a server; cut, it refuses connections as a host without the server does."""

    def __init__(self, port: int) -> None:
        self.port = free_port()
        self._to = port
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.hint()

    def hint(self) -> None:
        """Take connections (again)."""
        if self._listener is not None:
            return
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuse new connections and break those there are."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                near.close()
                continue
            with self._lock:
                self._ends |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while piece := source.recv(2**16):
                target.sendall(piece)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            if end is source:
                end.close()
        with self._lock:
            self._ends.discard(source)
