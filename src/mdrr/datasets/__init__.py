"""Data that ships with the package: UCI Adult, with the attribution beside it."""

from __future__ import annotations

from mdrr.datasets.uci_adult import ADULT, PAPER, adult, adult_domain, adult_survey

__all__ = ["adult", "adult_domain", "adult_survey", "ADULT", "PAPER"]
