"""Makes the checker of the vendors' rules importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
