"""Stands in for `toolport serve`: takes its arguments, and misbehaves as the test asks."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from scripted import ScriptedServer


def main() -> int:
    manner = os.environ.get("FAKE_MANNER", "")
    arguments = sys.argv[1:]
    print("arguments: " + json.dumps(arguments), file=sys.stderr, flush=True)
    if manner == "refuses":
        print("loading the tools", flush=True)
        print("error: tools[1] resolves to the name 'a', which is taken", file=sys.stderr)
        return 2
    if manner == "prints and ends":
        print("it says why on the wrong stream", flush=True)
        return 1
    if manner == "hangs":
        time.sleep(60)
    address = arguments[arguments.index("--address") + 1]
    ended = threading.Event()
    if manner == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGTERM, lambda *_: ended.set())
    server = ScriptedServer()
    digest = os.environ.get("FAKE_DIGEST_FILE")
    ready: dict[str, object] = {
        "toolport": 2 if manner == "is of a newer release" else 1,
        "address": address,
        "digest": "sha256:ab" if digest is None else Path(digest).read_text(),
    }
    if address.startswith("unix:"):
        server.serve(address)
    else:
        ready["address"] = f"127.0.0.1:{server.serve(address)}"
        ready["tokenFile"] = os.environ["FAKE_TOKEN_FILE"]
    if manner == "noisy":
        print('loading…\n{"toolport": not json\n[1]')
        sys.stdout.write("no newline")
    print(json.dumps(ready, separators=(",", ":")), flush=True)
    server.tools["die"] = die
    threading.Thread(target=watch_parent, args=(ended,), daemon=True).start()
    ended.wait(60)
    if manner == "deaf":
        time.sleep(60)
    server.stop()
    print("drained", file=sys.stderr, flush=True)
    return 0


def watch_parent(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def die(request: object, context: object) -> NoReturn:
    print("fatal: out of memory", file=sys.stderr, flush=True)
    os._exit(134)


if __name__ == "__main__":
    sys.exit(main())
