# Compiled as it is; knowing the class makes the tests for it quick.
from retrograd.core.tensor cimport Tensor
