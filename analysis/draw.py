# SPDX-License-Identifier: GPL-2.0-only
"""Draws pictures and prints their paths, one a line; a line that begins with # is a note.

    draw.py DIR                    those of a results folder, into it
    draw.py --overview DIR         only the one a run ends with; of seeds, all
    draw.py --compare OUT DIR ...  those of many runs together, into OUT

Exit status: 0 drawn, 2 a folder cannot be read or written (one line says why).
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from analysis import collect, compare, pictures, repeats, style  # noqa: E402
from analysis.results import BadResults, Results  # noqa: E402


def _save(made, folder):
    """Save each figure of {name: figure or why there is none}. @return paths and notes."""
    lines = []
    for name, figure in made:
        if isinstance(figure, str):
            lines.append(f"# no {name}: {figure}")
            # What an earlier drawing left there no longer fits.
            for ending in ("png", "svg"):
                path = os.path.join(folder, f"{name}.{ending}")
                if os.path.exists(path):
                    os.remove(path)
        else:
            lines += style.styled(style.save)(figure, folder, name)
    return lines


def draw(folder, names=tuple(pictures.PICTURES)):
    """Draw every picture the folder has data for. @return paths written, and notes."""
    if os.path.isfile(os.path.join(folder, "seeds.json")):
        return _save(repeats.figures(folder).items(), folder)
    results = Results(folder)
    return _save(((name, pictures.PICTURES[name](results)) for name in names), folder)


def draw_together(out, folders):
    """Draw what the runs below the folders say together. @return paths written, and notes."""
    runs, unfinished = collect.find(folders)
    notes = [f"# left out, not finished: {run.results.folder}" for run in unfinished]
    if not runs:
        raise BadResults(f"{folders[0]}: no run there is finished")
    os.makedirs(out, exist_ok=True)
    return notes + _save(compare.figures(runs).items(), out)


def main(argv):
    try:
        if len(argv) == 1:
            lines = draw(argv[0])
        elif len(argv) == 2 and argv[0] == "--overview":
            lines = draw(argv[1], ["timeline"])
        elif len(argv) >= 3 and argv[0] == "--compare":
            lines = draw_together(argv[1], argv[2:])
        else:
            print("usage: draw.py [--overview] DIR | draw.py --compare OUT DIR ...",
                  file=sys.stderr)
            return 2
        print("\n".join(lines))
    except (BadResults, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
