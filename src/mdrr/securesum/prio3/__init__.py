"""Prio3: aggregators sum hidden vectors and are shown, without seeing them, that they are valid."""
