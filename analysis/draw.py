# SPDX-License-Identifier: GPL-2.0-only
"""draw.py DIR: draws the pictures of a results folder into it and prints their paths.

Exit status: 0 drawn, 2 the folder cannot be read (one line says why).
"""

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from analysis import style, timeline  # noqa: E402
from analysis.results import BadResults, Results  # noqa: E402


def draw(folder):
    """Draw every picture the folder has data for. @return paths written."""
    results = Results(folder)
    with style.plt.rc_context(style.SETTINGS):
        return style.save(timeline.draw(results), folder, "timeline")


def main(argv):
    if len(argv) != 1:
        print("usage: draw.py DIR", file=sys.stderr)
        return 2
    try:
        print("\n".join(draw(argv[0])))
    except (BadResults, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
