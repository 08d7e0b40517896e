"""What torchaudio asks about the build of its library: there is no CUDA in it, and no forced alignment."""
from __future__ import annotations

import retrograd as torch

library = torch.library.Library("_torchaudio", "DEF")
library.define("is_align_available() -> bool")
library.define("cuda_version() -> int?")
library.impl("is_align_available", lambda: False, "CompositeExplicitAutograd")
library.impl("cuda_version", lambda: None, "CompositeExplicitAutograd")
