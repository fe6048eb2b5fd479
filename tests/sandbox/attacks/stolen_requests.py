"""Requests that were sent ahead are stolen, and answered with forged outcomes in the check cell's name."""

WIRE = True
EXTRA = [
    """
stolen = waiting()
print("TRIED", len(stolen), any("check(" in m["content"]["code"] for _, m in stolen))
ones = {"runs": [{"probabilities": ["f8", [5], "AAAAAAAA8D8AAAAAAADwPwAAAAAAAPA/AAAAAAAA8D8AAAAAAADwPw=="]}],
        "problem": None, "changed_inputs": []}
for identities, message in stolen:
    for kind, content in {
        "display_data": bundle([ones] * 9),
        "execute_result": {"data": {"text/plain": "5.0"}, "metadata": {}, "execution_count": 1},
        "status": {"execution_state": "idle"},
    }.items():
        publish(kind, content, message)
    reply(identities, message)
time.sleep(0.3)
"""
]
PROBE = "True"


def failed(result):
    assert not result.executed.payloads  # the check cell had not begun
