"""HTML, SVG, JavaScript, LaTeX, PDF, Vega and widgets in every kind of output."""

FEEDBACK = True
POINTS = "all"
SCRIPT = "<script>window.attacked = 1</script><img src=x onerror='window.attacked = 1'><svg onload='window.attacked = 1'>"
EXTRA = [
    f"""
import base64, sys
from IPython.display import HTML, SVG, Javascript, Latex, Markdown, display, publish_display_data
script = {SCRIPT!r}
display(HTML(script), Markdown(script + "[x](javascript:window.attacked=1)"), Latex(r"$\\href{{javascript:window.attacked=1}}{{x}}$"), Javascript("window.attacked = 1"))
publish_display_data({{
    "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'>" + script + "</svg>", "application/javascript": "window.attacked = 1",
    "text/html": script, "text/latex": script, "text/markdown": script, "application/pdf": "x", "application/vnd.vega.v5+json": {{}},
    "image/png": "\\"><script>window.attacked = 1</script>", "image/jpeg": base64.b64encode(b"\\xff\\xd8\\xff" + script.encode()).decode(),
    "image/gif": script, "text/plain": script}}, metadata={{"image/png": {{"width": "1 onerror=window.attacked=1"}}, "isolated": True}})
print("</pre>" + script)
print("</pre>" + script, file=sys.stderr)
print("\\x1b]8;;javascript:window.attacked=1\\x07click\\x1b]8;;\\x07 \\x1b[31m" + script, "TRIED")
""",
    f"raise type({SCRIPT!r}, (Exception,), {{}})({SCRIPT!r} + ' \\x1b[1;31m' + {SCRIPT!r})",
    f"class Shown:\n    def _repr_html_(self): return {SCRIPT!r}\n    def _repr_mimebundle_(self, **k): return {{'text/html': {SCRIPT!r}, 'text/plain': {SCRIPT!r}}}\nShown()",
    f"# </div></pre>{SCRIPT}\n'''{SCRIPT}'''",
]


def failed(result):
    for output in result.outputs():
        assert set(output.get("data", {})) <= {"text/plain", "text/html", "image/png", "image/jpeg"}
    assert "onerror" not in str([o.get("data", {}).get("text/html", "") for o in result.outputs()])
