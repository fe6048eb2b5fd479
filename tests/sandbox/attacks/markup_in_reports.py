"""Markup in what a report quotes: names of types, messages of errors, the line of the code that failed."""

FEEDBACK = True
CELLS = {
    "softmax": """
S = "<script>window.attacked = 1</script><img src=x onerror=window.attacked=1>`<b onclick=window.attacked=1>`[x](javascript:window.attacked=1) $\\\\href{javascript:window.attacked=1}{x}$"
makers = iter([type(S, (Exception,), {}), type(S, (), {}), None])
def softmax(scores, axis=-1):
    kind = next(makers)
    if issubclass(kind, Exception):
        raise kind(S)  # <script>window.attacked = 1</script><img src=x onerror=window.attacked=1>
    return kind()
print("TRIED")
"""
}


def failed(result):
    report = next(o.data["text/html"] for o in result.outputs() if "text/html" in o.get("data", {}))
    assert (
        "&lt;script&gt;" in report
        and "<script" not in report
        and "<img" not in report
        and "<b " not in report
    )
