"""Secure sums between parties who do not trust each other (paper sections 4.2 and 4.3)."""
