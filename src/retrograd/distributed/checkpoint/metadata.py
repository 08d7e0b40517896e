"""What a checkpoint contains: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties",
    "TensorStorageMetadata",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
