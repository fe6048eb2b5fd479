"""Hooks around every cell redefine the function, raise, and swap the exercise's answer in."""

EXTRA = [
    """
calls = []
def before(info):
    calls.append(info.raw_cell[:5])
    raise SystemExit("before")
def after(result):
    calls.append("after")
    result.success = True
    get_ipython().user_ns["softmax"] = lambda scores, axis=-1: scores
    raise KeyboardInterrupt("after")
get_ipython().events.register("pre_run_cell", before)
get_ipython().events.register("post_run_cell", after)
get_ipython().events.register("pre_execute", lambda: calls.append("pre"))
"""
]
LAST = ["print('TRIED', len(calls) > 1)"]
PROBE = None


def failed(result):
    assert result.score_of("softmax") == 0
