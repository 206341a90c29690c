"""Jobs on other machines: an engine for each kind of host, over SSH and by Slurm, and our end there."""

from outlive.part import Part


class Hosts(Part):
    name = "hosts"
    needs = ("sandbox",)  # our end there makes the sandbox of its jobs, and a mirror that of notification commands
    verbs = {
        "host check": "outlive.parts.hosts.verbs:HOST_CHECK",
        "host setup": "outlive.parts.hosts.verbs:HOST_SETUP",
    }
    actions = {"host list": "outlive.parts.hosts.verbs:HOST_LIST"}
    for_person = {"hosts": "outlive.parts.hosts.person:hosts"}
    for_model = {"hosts": "outlive.mcp.tools.answer_text:plain"}
    sections = {"hosts": "outlive.parts.hosts.settings:checked"}
    engines = {"slurm": "outlive.parts.hosts.slurm.engine:ENGINE", "ssh": "outlive.parts.hosts.ssh.engine:ENGINE"}


PART = Hosts()
