"""The Compose specification on a file: prints it as JSON, or fails with what is wrong; runs in `.venv-packaging`."""

import json
import sys
from pathlib import Path

from compose_spec import PyCompose

print(json.dumps(PyCompose.from_yaml(Path(sys.argv[1]).read_text()).to_dict()))
