"""The short way in plain Python, where a call costs as much as a step of the work: functions written out at first use.

calls.py writes what public functions and methods run, one function for each pattern of argument types, with the texts of
bodies.py; operators.py what operators and ops of one or two tensors run; rules.py what nodes run in a backward pass;
tangents.py what dual tensors run. All of it comes from the recipes (core/recipe.py). A compiled core does the same without
code per op (core/binder.pyx, core/dispatch.py) and imports none of these files.
"""
