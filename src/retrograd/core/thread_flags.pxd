# The switches of the running thread, read in C; state.py has the same functions in Python.
cpdef long slow_path() except? -1
cpdef long run_flags() except? -1
cpdef bint grad_enabled() except? -1
cpdef bint inference() except? -1
cpdef dict thread_state()
