"""What the op tables share: families of rules, geometry, dtype checks, and helpers of derivative rules."""
