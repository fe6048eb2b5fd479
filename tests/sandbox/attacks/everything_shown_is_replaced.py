"""showtraceback, displayhook, the formatters and stdout are replaced."""

FEEDBACK = True
EXTRA = [
    """
import sys
ip = get_ipython()
html = {"text/html": "<script>window.attacked = 1</script>", "text/plain": "5.0", "application/javascript": "window.attacked = 2"}
publish = ip.display_pub.publish
ip.showtraceback = ip._showtraceback = lambda *a, **k: publish(html)
ip.display_formatter.format = lambda obj, *a, **k: (dict(html), {})
type(ip.displayhook).__call__ = lambda self, result=None: publish(html)
class Loud:
    def write(self, text): publish({**html, "text/plain": "TRIED " + text}); return len(text)
    def flush(self): pass
sys.stdout = sys.stderr = Loud()
print("from stdout")
1 / 0
"""
]
CELLS = {"softmax": "softmax = None\n'shown'"}


def failed(result):
    assert "window.attacked" not in result.graded.notebook.decode().replace("window.attacked = ", "", 2)
    assert "text/html" in str(result.executed.notebook.cells[1])
    assert "text/html" not in str([c.outputs for c in result.notebook.cells[1:4] if "outputs" in c])
