# Compiled as it is: no C types needed.
from retrograd.core.thread_flags cimport grad_enabled, slow_path
