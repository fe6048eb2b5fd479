"""``python -m grader.by_hand``: the process of a step of the week. Processes that it starts import this module, too, so nothing else is here."""

import sys

if __name__ == "__main__":
    from grader.by_hand.steps import main

    main(*sys.argv[1:])
