"""Data pipes that are gone through."""
from __future__ import annotations

from retrograd.utils.data.datapipes.iter.combining import (
    ConcaterIterDataPipe as Concater,
)
from retrograd.utils.data.datapipes.iter.combining import (
    DemultiplexerIterDataPipe as Demultiplexer,
)
from retrograd.utils.data.datapipes.iter.combining import (
    ForkerIterDataPipe as Forker,
)
from retrograd.utils.data.datapipes.iter.combining import (
    MultiplexerIterDataPipe as Multiplexer,
)
from retrograd.utils.data.datapipes.iter.combining import (
    ZipperIterDataPipe as Zipper,
)
from retrograd.utils.data.datapipes.iter.files import (
    FileListerIterDataPipe as FileLister,
)
from retrograd.utils.data.datapipes.iter.files import (
    FileOpenerIterDataPipe as FileOpener,
)
from retrograd.utils.data.datapipes.iter.files import (
    StreamReaderIterDataPipe as StreamReader,
)
from retrograd.utils.data.datapipes.iter.grouping import (
    BatcherIterDataPipe as Batcher,
)
from retrograd.utils.data.datapipes.iter.grouping import (
    GrouperIterDataPipe as Grouper,
)
from retrograd.utils.data.datapipes.iter.grouping import (
    UnBatcherIterDataPipe as UnBatcher,
)
from retrograd.utils.data.datapipes.iter.single import (
    CollatorIterDataPipe as Collator,
)
from retrograd.utils.data.datapipes.iter.single import (
    FilterIterDataPipe as Filter,
)
from retrograd.utils.data.datapipes.iter.single import (
    IterableWrapperIterDataPipe as IterableWrapper,
)
from retrograd.utils.data.datapipes.iter.single import (
    MapperIterDataPipe as Mapper,
)
from retrograd.utils.data.datapipes.iter.single import (
    SamplerIterDataPipe as Sampler,
)
from retrograd.utils.data.datapipes.iter.single import (
    ShardingFilterIterDataPipe as ShardingFilter,
)
from retrograd.utils.data.datapipes.iter.single import (
    ShufflerIterDataPipe as Shuffler,
)

__all__ = ["Batcher", "Collator", "Concater", "Demultiplexer", "FileLister", "FileOpener", "Filter", "Forker", "Grouper",
           "IterableWrapper", "Mapper", "Multiplexer", "Sampler", "ShardingFilter", "Shuffler", "StreamReader", "UnBatcher",
           "Zipper"]
