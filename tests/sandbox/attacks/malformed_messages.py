"""Messages of every kind whose content, header and signature are not what the protocol says."""

WIRE = True
POINTS = "all"
EXTRA = [
    """
odd = [None, 3, "x", [], {}, [[]], {"data": 3}, {"data": {}, "metadata": 4}, {"name": [], "text": {}},
       {"execution_state": {}}, {"data": {"application/vnd.transformer-labs.outcome+json": 7}, "metadata": {}},
       {"data": {"text/plain": {"a": 1}}, "metadata": {}, "transient": 3, "execution_count": "x"},
       {"ename": 1, "evalue": [], "traceback": 7}, {"transient": {"display_id": []}, "data": {}, "metadata": {}},
       {"name": "stdout", "text": 5}, {"name": "stdout", "text": ["a", {}]}, {"wait": "x"}]
kinds = ["display_data", "stream", "error", "execute_result", "update_display_data", "status", "clear_output", "x", ""]
for content in odd:
    for kind in kinds:
        raw(*signed(header(kind), me(), b"{}", json.dumps(content).encode()))
for part in (b"", b"null", b"[]", b"3", b"{", b"\\xff\\xfe", b"NaN", b'{"msg_id": 1}', b'{"msg_id": {}}'):
    raw(*signed(part, me(), b"{}", b"{}"))
    raw(*signed(header("stream"), part, b"{}", b"{}"))
    raw(*signed(header("stream"), me(), part, b"{}"))
    raw(*signed(header("stream"), me(), b"{}", part))
raw(b"")
raw(b"<IDS|MSG>")
raw(b"x", b"<IDS|MSG>", b"wrong signature", b"{}", b"{}", b"{}", b"{}")
raw(*[b"x"] * 200)
print("TRIED", flush=True)
time.sleep(0.5)
"""
]
