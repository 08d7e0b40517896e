"""What fully sharded modules share: a name that programs import, which raises when it is used, and names of parameters."""
from __future__ import annotations

from retrograd.distributed._absent import absent

globals().update(absent(__name__, "_FSDPState"))


def clean_tensor_name(tensor_name: str) -> str:
    """The name of a parameter without the wrappers around its modules.

    >>> clean_tensor_name("_fsdp_wrapped_module.0._checkpoint_wrapped_module.weight")
    '0.weight'
    """
    for prefix in ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module."):
        tensor_name = tensor_name.replace(prefix, "")
    return tensor_name
