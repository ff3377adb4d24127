"""How the collector's database changed: one file a step, applied when a store is opened."""
