"""How `Module.to` and its relatives convert parameters: `torch.__future__`."""
from __future__ import annotations


class Conversion:
    """The settings in force."""

    overwrite = swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether conversions put new parameters into the module instead of giving the old ones new data.

    >>> set_overwrite_module_params_on_conversion(False)
    """
    Conversion.overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether conversions put new parameters into the module.

    >>> get_overwrite_module_params_on_conversion()
    False
    """
    return Conversion.overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether conversions exchange the contents of the old parameter and the converted tensor.

    >>> set_swap_module_params_on_conversion(False)
    """
    Conversion.swap = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether conversions exchange the contents of the old parameter and the converted tensor.

    >>> get_swap_module_params_on_conversion()
    False
    """
    return Conversion.swap
