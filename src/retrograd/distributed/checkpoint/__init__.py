"""Checkpoints written by several processes: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "BytesStorageMetadata", "CheckpointException", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "LoadPlan", "LoadPlanner", "Metadata", "ReadItem", "SavePlan",
    "SavePlanner", "StorageReader", "StorageWriter", "TensorStorageMetadata", "WriteItem", "async_save", "load",
    "load_sharded_optimizer_state_dict", "load_state_dict", "save", "save_state_dict",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
