"""Parts of the random generator; `retrograd.core.generator` is the place to import them from."""
