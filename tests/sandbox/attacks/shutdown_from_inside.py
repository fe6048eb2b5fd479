"""The kernel is asked to restart and shut down, by itself."""

WIRE = True
EXTRA = [
    """
import asyncio
print("TRIED", flush=True)
get_ipython().payload_manager.write_payload({"source": "ask_exit", "keepkernel": False})
asyncio.get_event_loop().create_task(kernel.do_shutdown(True))
get_ipython().ask_exit()
app.io_loop.add_callback(app.io_loop.stop) if hasattr(app, "io_loop") else None
""",
    "import time\ntime.sleep(0.2)",
]
STATE = ("graded", "crashed", "timed out")
POINTS = (0, 5)
