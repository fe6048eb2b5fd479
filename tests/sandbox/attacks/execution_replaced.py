"""The kernel's do_execute is replaced by one that runs nothing and always reports success."""

EXTRA = [
    """
kernel = get_ipython().kernel
async def nothing(*args, **kwargs):
    print("TRIED")
    return {"status": "ok", "execution_count": 1, "user_expressions": {}, "payload": []}
type(kernel).do_execute = nothing
"""
]
