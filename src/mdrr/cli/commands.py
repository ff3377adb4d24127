"""The list of commands, which `mdrr --help` prints without loading any of them."""

_LISTED = {
    "Run a survey with a server": {
        "survey": "Draft, freeze, open and close a survey; read its results.",
        "serve": "Serve the surveys of a database: collector, respondent page and dashboard.",
        "respond": "Answer a survey in the terminal; see what is sent before it is.",
        "crowd": "Let simulated people answer a survey over HTTP; their true answers are in a "
        "file.",
    },
    "Before the survey": {
        "plan": "Predict the error of every candidate design at one ε, and write the best design.",
        "design": "Make a design from a survey file: which answers are randomized together, and "
        "how much.",
        "privacy": "Say what one report reveals: ε of the record, of each cluster and attribute, "
        "and in words.",
        "theory": "Predict errors of the reported (λ̂) and the estimated (π̂) shares, before "
        "anyone is asked.",
        "audit": "Check that the randomizers keep the ε that a design claims: exactly, and by "
        "sampling.",
    },
    "Files instead of a server": {
        "randomize": "Randomize a file of true records.",
        "tally": "Count how often each report occurs in one or more files.",
        "pool": "Join surveys that asked the same attributes into one tally and its design.",
    },
    "Analysis": {
        "estimate": "Estimate tables of the true distribution; with -o estimate.npz, save the "
        "estimate.",
        "query": "Count the people for whom an expression holds, with an interval.",
        "adjust": "Weight the randomized records so that their margins are the estimated ones "
        "(Algorithm 2).",
        "synth": "Write synthetic records drawn from the estimated distribution.",
        "report": "Write one HTML page with the results: shares, dependences, counts, privacy.",
    },
    "Which attributes go together": {
        "dependence": "Measure how strongly each pair of attributes depends, corrected for the "
        "randomization.",
        "cluster": "Cluster the attributes by dependence; with --p or --epsilon, write the "
        "clustered design.",
        "securesum": "Measure dependences by secure sums: nobody sees another's answers.",
    },
    "See it work": {
        "demo": "Plan, simulate and estimate a survey on the Adult data set, beside the paper's "
        "methods.",
    },
}

COMMANDS = tuple(
    (name, panel, line) for panel, listed in _LISTED.items() for name, line in listed.items()
)
"""Every command, the group it stands under in `mdrr --help`, and its own first sentence."""
