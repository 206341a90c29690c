#!/bin/sh
# What Slurm runs for every job: the interpreter, the job root and the id are arguments. What Python does first is in system/interpreter.py.
exec "$1" -EP -S -c '
import os, site, sys
for name in ("OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES"):
    os.unsetenv(name)
taken = site.addpackage
def is_development(folder):
    return any("outlive" in name and name.endswith(".pth") for name in os.listdir(folder))
site.addpackage = lambda folder, name, known: taken(folder, name, known) if is_development(folder) else known
site.execsitecustomize = site.execusercustomize = lambda: None
site.main()
import runpy; runpy.run_module("outlive.parts.hosts.slurm.inside_allocation", run_name="__main__", alter_sys=True)' "$2" "$3"
