"""What passes over graphs are built from."""
