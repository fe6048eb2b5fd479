"""The grader's seed is replaced by the public one, whose answers are known."""

EXTRA = ["import os\nos.environ['TRANSFORMER_LABS_SEED'] = '2017'\nprint('TRIED')"]


def failed(result):
    assert result.executed.payloads == {}  # a bundle of another seed is nobody's
