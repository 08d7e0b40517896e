# Compiled as it is: no C types needed.
