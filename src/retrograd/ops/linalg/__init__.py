"""Matrix products, factorizations, systems of equations, norms and distances."""
