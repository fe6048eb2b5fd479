"""A Jupyter kernel provisioner whose kernels are forks of a preloaded process in a bubblewrap container.

Name it in a kernel spec, and nbclient, nbconvert or any other Jupyter tool runs notebooks in the sandbox::

    {"argv": ["python"], "language": "python", "display_name": "Sandboxed Python",
     "metadata": {"kernel_provisioner": {"provisioner_name": "transformer-labs-sandbox",
                                         "config": {"modules": ["numpy", "torch"]}}}}
"""

from __future__ import annotations

import asyncio
import signal
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase
from traitlets import Bool, Dict, List, Unicode

from course_utils.checking.check import SEED_VARIABLE
from grader.sandbox.preloaded import Limits, Preloaded, SandboxLost, Setting, borrow, give_back

NAME = "transformer-labs-sandbox"
"""The entry point in the group ``jupyter_client.kernel_provisioners``."""

# so that the grader works even if the course was installed before it had this entry point
_group, _object = KernelProvisionerFactory.GROUP_NAME, f"{__name__}:SandboxProvisioner"
KernelProvisionerFactory.provisioners.setdefault(NAME, EntryPoint(NAME, _object, _group))

_POLL_SECONDS = 0.02


class SandboxProvisioner(KernelProvisionerBase):
    """Starts, watches and ends kernels in the sandbox. They use Unix sockets, whatever the tool asks for.

    The grading seed is the only variable of the tool's environment that reaches the kernel.
    """

    modules = List(Unicode(), help="what is imported before the first kernel starts")
    folder = Unicode("", help="a lab's release, whose data files notebooks may read")
    hidden = List(Unicode(), help="folders that must stay invisible, wherever they are")
    limits = Dict(help="fields of grader.sandbox.preloaded.Limits")
    fresh = Bool(False, help="a container for this kernel alone, thrown away afterwards")

    preloaded: Preloaded | None = None

    def setting(self) -> Setting:
        folder = Path(self.folder) if self.folder else None
        return Setting(tuple(self.modules), folder, tuple(map(Path, self.hidden)))

    @property
    def has_process(self) -> bool:
        return self.preloaded is not None

    @property
    def cause(self) -> str:
        """Why the kernel ended; see :attr:`Preloaded.cause`."""
        return self.preloaded.cause if self.preloaded else ""

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        if self.preloaded is None:  # else it is a restart, and clients keep the same sockets
            self.preloaded = Preloaded(self.setting()) if self.fresh else borrow(self.setting())
        manager = self.parent
        manager.transport, manager.ip = "ipc", str(self.preloaded.sockets / "k")
        for number, channel in enumerate(("shell", "iopub", "stdin", "control", "hb"), start=1):
            setattr(manager, f"{channel}_port", number)
        manager.write_connection_file()
        return await super().pre_launch(cmd=[], **kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """
        Raises:
            SandboxLost: there is no kernel.
            GraderError: the sandbox cannot be set up on this machine.
        """
        connection = self.parent.get_connection_info()
        given = kwargs.get("env") or {}
        environment = {name: given[name] for name in (SEED_VARIABLE,) if name in given}
        packed = {
            name: value.decode() if isinstance(value, bytes) else value for name, value in connection.items()
        }
        self.preloaded.start_kernel(packed, environment, Limits(**self.limits))
        self.connection_info = connection
        return connection

    async def poll(self) -> int | None:
        return self.preloaded.poll() if self.preloaded else 0

    async def wait(self) -> int | None:
        while (code := await self.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
        return code

    async def send_signal(self, signum: int) -> None:
        if self.preloaded:
            self.preloaded.signal(signum)

    async def kill(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGKILL)

    async def terminate(self, restart: bool = False) -> None:
        await self.send_signal(signal.SIGTERM)

    async def cleanup(self, restart: bool = False) -> None:
        """Ends the kernel and everything it started, and gives the preloaded process back unless this is a restart.

        Raises:
            SandboxLost: that process is no longer in the state it was in, and has been removed.
        """
        preloaded, self.preloaded = self.preloaded, None
        if preloaded is None:
            return
        try:
            preloaded.stop_kernel()
        except SandboxLost:
            preloaded.close()
            raise
        if restart:
            self.preloaded = preloaded
        elif self.fresh:
            preloaded.close()
        else:
            give_back(preloaded)
