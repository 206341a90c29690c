#!/bin/sh
# What Slurm runs for every job: the interpreter, the job root and the id are arguments. What Python does first is in system/interpreter.py.
exec "$1" -EP -S -c '
import os, site, sys
for name in ("OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"):
    os.unsetenv(name)
taken = site.addpackage
ours = "_editable_impl_outlive.pth"
def is_ours(folder, name):
    return name == ours or (name == "a1_coverage.pth" and ours in os.listdir(folder))
site.addpackage = lambda folder, name, known: taken(folder, name, known) if is_ours(folder, name) else known
site.execsitecustomize = site.execusercustomize = lambda: None
site.main()
import runpy; runpy.run_module("outlive.parts.hosts.slurm.inside_allocation", run_name="__main__", alter_sys=True)' "$2" "$3"
