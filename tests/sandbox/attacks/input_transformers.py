"""An IPython input transformer rewrites the check cell before it runs."""

EXTRA = [
    """
ip = get_ipython()
def rewrite(lines):
    if any("check(" in line for line in lines) and not any("def " in line for line in lines):
        return ["print('TRIED')\\n", "softmax.rewritten = True\\n", "full_marks = 5.0\\n", "full_marks\\n"]
    return lines
ip.input_transformers_cleanup.append(rewrite)
ip.input_transformers_post.append(rewrite)
"""
]


def failed(result):
    assert result.executed.payloads == {}
    assert "rewritten" not in str(result.notebook.cells[-1].source)
