"""The experiments of section 6, run again on the real data, beside what the paper prints."""
