"""The check of `outlive doctor` for the sandbox."""

from __future__ import annotations

from outlive.errors import OutliveError
from outlive.parts.finding import CheckContext, Finding, fail, ok, warn
from outlive.parts.sandbox.confinement import bubblewrap
from outlive.parts.sandbox.settings import sandbox_of


def sandbox(context: CheckContext) -> Finding:
    """Check that bubblewrap can make the namespaces, by a sandbox without network for `true`."""
    config = context.config
    wanted = config is not None and config.has("sandbox")
    try:
        path = bubblewrap.find(None if config is None else sandbox_of(config).bwrap)
    except OutliveError as error:
        what = error.message.removesuffix("; nothing was run")
        if wanted:
            return fail(what, error.hint or bubblewrap.INSTALL, bwrap=None)
        return ok(f"none is configured, and {what}", bwrap=None)
    problem = bubblewrap.tried(path)
    if problem is None:
        return ok(f"{path} works" + ("" if wanted else "; none is configured"), bwrap=path)
    told = f"{path} cannot make a sandbox: {problem}"
    return fail(told, bubblewrap.mend(), bwrap=path) if wanted else warn(told, bubblewrap.mend(), bwrap=path)
