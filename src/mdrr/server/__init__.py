"""The collector: receives randomized answers over HTTP, stores and counts them."""
