"""`save` and `load`: objects with tensors in files that PyTorch can read, and the files that PyTorch writes.

A file is a zip archive: `data.pkl` is a pickle of the object in which the memory of tensors is named by number, `data/N`
that memory as it is, little-endian. Tensors that share memory share it again after loading. Reading is safe unless the caller
says `weights_only=False`: see NOTE [What a file can do] in allowlist.py.
"""
from __future__ import annotations

from typing import Any

from retrograd.serialization.inspect_file import get_unsafe_globals_in_checkpoint
from retrograd.serialization.legacy import MAGIC_NUMBER, PROTOCOL_VERSION
from retrograd.serialization.older import (
    SourceChangeWarning,
    StorageType,
    _is_zipfile,
    check_module_version_greater_or_equal,
    mkdtemp,
    normalize_storage_type,
    storage_to_tensor_type,
    validate_cuda_device,
    validate_hpu_device,
)
from retrograd.serialization.options import (
    LoadEndianness,
    add_safe_globals,
    clear_safe_globals,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    get_safe_globals,
    safe_globals,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from retrograd.serialization.places import PACKAGES as _package_registry
from retrograd.serialization.places import default_restore_location, location_tag, register_package
from retrograd.serialization.reading import load
from retrograd.serialization.writing import save

__all__ = [
    "MAGIC_NUMBER", "PROTOCOL_VERSION", "LoadEndianness", "SourceChangeWarning", "StorageType", "_is_zipfile",
    "_package_registry", "add_safe_globals", "check_module_version_greater_or_equal", "clear_safe_globals",
    "default_restore_location", "get_crc32_options", "get_default_load_endianness", "get_default_mmap_options",
    "get_safe_globals", "get_unsafe_globals_in_checkpoint", "load", "location_tag", "mkdtemp", "normalize_storage_type",
    "register_package", "safe_globals", "save", "set_crc32_options", "set_default_load_endianness",
    "set_default_mmap_options", "skip_data", "storage_to_tensor_type", "validate_cuda_device", "validate_hpu_device",
]

DEFAULT_PROTOCOL = 2
MAP_LOCATION = Any      # for annotations: a device, its name, a dict of names, or a function
