"""The list of commands."""

COMMANDS = (
    ("survey", "Run a survey with a server"),
    ("serve", "Run a survey with a server"),
    ("respond", "Run a survey with a server"),
    ("crowd", "Run a survey with a server"),
    ("plan", "Before the survey"),
    ("design", "Before the survey"),
    ("privacy", "Before the survey"),
    ("theory", "Before the survey"),
    ("randomize", "Files instead of a server"),
    ("tally", "Files instead of a server"),
    ("pool", "Files instead of a server"),
    ("estimate", "Analysis"),
    ("query", "Analysis"),
    ("adjust", "Analysis"),
    ("synth", "Analysis"),
    ("report", "Analysis"),
    ("dependence", "Which attributes go together"),
    ("cluster", "Which attributes go together"),
    ("securesum", "Which attributes go together"),
    ("demo", "See it work"),
)
"""Every command and the group it stands under in `mdrr --help`, in that order."""
