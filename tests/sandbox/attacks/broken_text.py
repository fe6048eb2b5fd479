"""Invalid UTF-8, lone surrogates and control characters in everything that is shown."""

WIRE = True
FEEDBACK = True
POINTS = "all"
EXTRA = [
    """
for text in (b'"\\\\ud800\\\\udfff\\\\ud800"', b'"\\xff\\xfe"', b'"\\xed\\xa0\\x80"', b'"\\\\u0000\\\\u001b[2J\\\\u202e\\\\u0007"',
             b'"\\x1b[31m\\x1b]8;;http://attacker.example\\x07link\\x1b]8;;\\x07"'):
    raw(*signed(header("stream"), me(), b"{}", b'{"name": "stdout", "text": ' + text + b"}"))
    raw(*signed(header("error"), me(), b"{}", b'{"ename": ' + text + b', "evalue": ' + text + b', "traceback": [' + text + b"]}"))
    raw(*signed(header("display_data"), me(), b"{}", b'{"data": {"text/plain": ' + text + b'}, "metadata": {}}'))
print("\\ud800 TRIED".encode("utf-8", "replace").decode(), "\\x00\\x1b[31m\\x1b[999999999C", flush=True)
time.sleep(0.3)
"""
]
