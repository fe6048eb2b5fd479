"""IPython's kernel, started in two steps: first what forks can share, then what they cannot.

Messages and semantics are those of any IPython kernel. It starts fewer threads, and wakes them up less often, because handing work from
one thread to another takes most of the time of a short cell.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
import threading
import zlib
from collections.abc import Callable
from typing import Any

import zmq
from ipykernel.compiler import XCachingCompiler, get_tmp_directory
from ipykernel.control import ControlThread
from ipykernel.iostream import OutStream
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from ipykernel.zmqshell import ZMQDisplayPublisher, ZMQInteractiveShell
from traitlets import Type
from zmq.eventloop.zmqstream import ZMQStream

LONGEST, LONGEST_ERROR = 31 * 2**20, 2**18
"""The most bytes that the grader accepts in a message, and in a message about an error."""
LEFT_OUT = "[A very long output was left out here.]\n"
_LATER = (
    "ipykernel.debugger",
    "tornado.platform.asyncio",
    "faulthandler",
    "IPython.core.logger",
    "zmq.utils.garbage",
)
"""Modules that IPython imports only when it needs them, as every kernel does."""


class Compiler(XCachingCompiler):
    """Names cells as IPython's kernel does, but with a sum that C computes, and not Python."""

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        return f"{get_tmp_directory()}/{zlib.crc32(raw_code.encode('utf-8', 'surrogatepass'))}.py"


class Publisher(ZMQDisplayPublisher):
    """Shows what was printed before, but does not wait until it has been sent."""

    def _flush_streams(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream._flush() if isinstance(stream, Stream) else stream.flush()


class Shell(ZMQInteractiveShell):
    """Translates a cell to Python once. The kernel asks for that to see whether it has to wait for the cell, and then again."""

    display_pub_class = Type(Publisher)
    _translated: tuple[str, str] | None = None
    runs_a_cell = False

    def transform_cell(self, raw_cell: str) -> str:
        known, self._translated = self._translated, None
        if known and known[0] == raw_cell:
            return known[1]
        text = super().transform_cell(raw_cell)
        self._translated = raw_cell, text
        return text

    async def run_cell_async(self, *args: Any, **kwargs: Any) -> Any:
        self._translated = None  # what a cell does may change how the next is translated
        self.runs_a_cell = True
        try:
            return await super().run_cell_async(*args, **kwargs)
        finally:
            self.runs_a_cell = False


class Stream(OutStream):
    """stdout or stderr. What a cell flushes has left when the call ends, so it is known even of a cell that is stopped. After
    a cell, flushing hands messages to the thread that sends them, but does not wait for that thread: messages keep their order anyway.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._new_lock()
        os.register_at_fork(after_in_child=self._new_lock)  # another thread may have held it
        super().__init__(*args, **kwargs)

    def _new_lock(self) -> None:
        self._handing_over = threading.RLock()

    def flush(self) -> None:
        if Shell.instance().runs_a_cell:
            super().flush()
        else:
            self._flush()

    def _flush(self) -> None:
        with (
            self._handing_over
        ):  # so that what is taken out of the buffer elsewhere is on its way before the caller goes on
            super()._flush()


class _MainThread:
    """Stands in for the thread that reads requests in IPython's kernel; here, the main thread does. Some of its code asks whether
    there is such a thread, some only for what started it.
    """

    @property
    def parent_thread(self) -> threading.Thread:
        return threading.main_thread()

    def __bool__(self) -> bool:
        return False


class Kernel(IPythonKernel):
    """A kernel that reads its requests in the main thread. So it has no subshells."""

    _execute_sleep = 0.0
    _supports_kernel_subshells = False


class WarmKernelApp(IPKernelApp):
    """IPython's kernel, started in two steps: first what forks can share, then what they cannot."""

    outstream_class = f"{__name__}.Stream"

    def prepare(self) -> None:
        """Everything that needs neither sockets nor threads. The shell takes most of IPython's start-up time."""
        super(IPKernelApp, self).initialize(["--HistoryManager.enabled=False", "--log-level=CRITICAL"])
        self.log.setLevel(
            logging.CRITICAL
        )  # otherwise only the handler drops messages, after they have been made
        self.init_pdb()
        sys.modules["debugpy"] = None  # nobody debugs here: this leaves IPython without it
        for name in _LATER:
            importlib.import_module(name)
        del sys.modules["debugpy"]
        self.kernel = Kernel.instance(
            parent=self,
            session=self.session,
            log=self.log,
            profile_dir=self.profile_dir,
            user_ns={},
            shell_class=Shell,
            compiler_class=Compiler,
            shell_channel_thread=_MainThread(),
        )
        self.init_shell()
        self.kernel.shell.kernel = self.kernel
        # `exit()` would end the kernel a moment later, in the middle of another cell
        self.kernel.shell.ask_exit = lambda: None
        self.init_gui_pylab()
        self.init_extensions()
        self.init_code()

    def init_control(self, context: zmq.Context) -> None:
        """As in IPython's kernel, without what debuggers need."""
        self.control_socket = context.socket(zmq.ROUTER)
        self.control_socket.linger = 1000
        self.control_port = self._bind_socket(self.control_socket, self.control_port)
        self.control_socket.router_handover = 1
        self.control_thread = ControlThread(daemon=True)

    def init_iopub(self, context: zmq.Context) -> None:
        """Sees to it that no message is dropped, however slow the listener is: waiting messages count as memory of the
        submission.
        """
        context.setsockopt(zmq.SNDHWM, 0)
        super().init_iopub(context)

    def init_path(self) -> None:
        """Lets a notebook import the files that it writes, as in JupyterLab. The option -P, which protects everything that
        starts earlier from such files, would otherwise hide them from the notebook, too.
        """
        at = next((at for at, path in enumerate(sys.path) if path.endswith("site-packages")), len(sys.path))
        sys.path.insert(at, "")

    def init_kernel(self) -> None:
        """Gives the kernel its sockets and threads."""
        kernel, shell = self.kernel, self.kernel.shell
        kernel.shell_stream = ZMQStream(self.shell_socket)
        kernel.control_stream = ZMQStream(self.control_socket, self.control_thread.io_loop)
        kernel.control_thread = self.control_thread
        kernel.iopub_thread, kernel.iopub_socket = self.iopub_thread, self.iopub_socket
        kernel.stdin_socket = self.stdin_socket
        kernel._stdout, kernel._stderr = sys.stdout, sys.stderr
        shell.displayhook.pub_socket = shell.display_pub.pub_socket = self.iopub_socket
        self.displayhook.get_execution_count = lambda: kernel.execution_count
        self.control_thread.start()

    def connect(self, connection: dict[str, Any]) -> None:
        """The rest of ``IPKernelApp.initialize``, in a fork.

        Args:
            connection: as in a connection file.
        """
        self.load_connection_info(connection)
        self.session.pid = os.getpid()
        self.session.serialize = bounded(self.session.serialize)
        self.init_sockets()
        self.init_heartbeat()
        self.init_io()
        self.init_signal()
        self.init_kernel()
        self.init_path()


def bounded(serialize: Callable[..., list[bytes]]) -> Callable[..., list[bytes]]:
    """Makes messages short enough for the grader. One that is too long would end the connection, so that all later
    messages would be lost.
    """

    def call(message: dict[str, Any], ident: Any = None) -> list[bytes]:
        parts = serialize(message, ident)
        kind, content = message["header"]["msg_type"], message["content"]
        if sum(map(len, parts)) <= (LONGEST_ERROR if kind in ("error", "execute_reply") else LONGEST):
            return parts
        if kind == "stream":
            shorter = {**content, "text": LEFT_OUT}
        elif "data" in content:
            shorter = {**content, "data": {"text/plain": LEFT_OUT}, "metadata": {}}
        else:
            texts = {"ename": "Error", "evalue": LEFT_OUT, "traceback": []}
            shorter = {
                "status": content.get("status"),
                "execution_count": content.get("execution_count"),
                **texts,
            }
        return serialize({**message, "content": shorter}, ident)

    return call
