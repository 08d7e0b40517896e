"""Datasets, samplers and the loader that goes over them: PyTorch's `torch.utils.data`."""
from __future__ import annotations

from retrograd.utils.data.dataloader import DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info
from retrograd.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, MapDataPipe, functional_datapipe
from retrograd.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from retrograd.utils.data.distributed import DistributedSampler
from retrograd.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = ["BatchSampler", "ChainDataset", "ConcatDataset", "DataChunk", "DataLoader", "Dataset", "DistributedSampler",
           "IterDataPipe", "IterableDataset", "MapDataPipe", "RandomSampler", "Sampler", "SequentialSampler",
           "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "_DatasetKind",
           "default_collate", "default_convert", "functional_datapipe", "get_worker_info", "random_split"]
