"""The experiments of the paper's section 6, run again on the real data: `python -m experiments`."""
