"""What fully sharded modules share: a name that programs import, which raises when it is used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

globals().update(absent(__name__, "_FSDPState"))
