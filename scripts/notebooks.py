"""Run the notebooks in examples/ and store what they show: `make notebooks`."""

import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebooks() -> list[Path]:
    """The notebooks, in the order of their names."""
    return sorted(EXAMPLES.glob("*.ipynb"))


def run(path: Path, folder: Path = EXAMPLES) -> Any:
    """A notebook after a run in a kernel of its own, which works in a folder."""
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    return notebook


def bare(notebook: Any) -> Any:
    """The notebook without what differs from run to run: times, ids and versions of Python."""
    notebook.metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    return notebook


if __name__ == "__main__":
    for path in notebooks():
        print(f"Running {path.name}", file=sys.stderr)
        nbformat.write(bare(run(path)), path)
