"""For a look by hand: `python -m provider --port N`."""

import argparse
import threading

from provider.server import Provider

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
print(f"listening on {Provider(parser.parse_args().port).url}", flush=True)
threading.Event().wait()
