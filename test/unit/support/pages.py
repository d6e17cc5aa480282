"""Reads what a page of the explorer carries."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    """Return the data of a page."""
    match = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert match is not None
    return json.loads(zlib.decompress(base64.b64decode(match[1])))
