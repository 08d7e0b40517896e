"""Data pipes that are looked up by key."""
from __future__ import annotations

from retrograd.utils.data.datapipes.map.steps import (
    BatcherMapDataPipe as Batcher,
)
from retrograd.utils.data.datapipes.map.steps import (
    ConcaterMapDataPipe as Concater,
)
from retrograd.utils.data.datapipes.map.steps import (
    MapperMapDataPipe as Mapper,
)
from retrograd.utils.data.datapipes.map.steps import (
    SequenceWrapperMapDataPipe as SequenceWrapper,
)
from retrograd.utils.data.datapipes.map.steps import (
    ShufflerIterDataPipe as Shuffler,
)
from retrograd.utils.data.datapipes.map.steps import (
    ZipperMapDataPipe as Zipper,
)

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]
