"""Stands in for the server of a local model: speaks its protocol, and answers every chat with its process id.

The weights' content says how it behaves: `GGUF broken` fails to load; `GGUF full` has replies that fill the context.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

order = json.loads(sys.stdin.readline())
behaviour = Path(order["weights"]).read_text(encoding="utf-8")
if "broken" in behaviour:
    sys.stderr.write("0.01 E load: error loading model: tensor 'x' is not within the file bounds\n")
    sys.stderr.flush()
    print(json.dumps({"error": "no model"}), flush=True)
    sys.exit(1)
FULL, CUT = "full" in behaviour, "cut" in behaviour


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": str(os.getpid())}
        choice = {"index": 0, "finish_reason": "length" if FULL or CUT else "stop", "message": message}
        prompt = 100 if CUT else 500
        usage = {"prompt_tokens": prompt, "completion_tokens": 12, "total_tokens": prompt + 12}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        payload = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}", "context": 512}), flush=True)
sys.stdin.read()
os._exit(0)
