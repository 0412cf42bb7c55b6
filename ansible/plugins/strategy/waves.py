"""Each host at its own pace, as `free` does. A host that fails leaves its wave; the others go on, through all plays,
while every control plane that joins or stays, and at least one of the hosts that join, is left. Otherwise the playbook
ends there, and the play `Complete` is never reached.

Hosts that leave may all fail: plays of theirs have `localhost` in their pattern, which does nothing, so that Ansible
does not end the playbook because every host of a play has failed.
"""

from ansible.executor.play_iterator import IteratingStates
from ansible.plugins.strategy.free import StrategyModule as Free

DOCUMENTATION = """
name: waves
short_description: as free, but a host that fails does not end the playbook unless nothing is left to do
description: as free, but a host that fails does not end the playbook unless nothing is left to do
"""


class StrategyModule(Free):
    def _members(self, *groups):
        found = (self._inventory.groups.get(group) for group in groups)
        return {host.name for group in found if group for host in group.get_hosts()}

    def _may_go_on(self, iterator):
        lost = set(iterator.get_failed_hosts()) | set(self._tqm._unreachable_hosts) | set(self._tqm._failed_hosts)
        needed = self._members('kube-master', 'etcd') - self._members('leave')
        joining = self._members('join')
        return not (needed & lost) and not (joining and joining <= lost)

    def run(self, iterator, play_context):
        if iterator._play.get_name() != 'Complete' and 'localhost' in iterator.host_states:
            iterator.set_run_state_for_host('localhost', IteratingStates.COMPLETE)
        if not self._may_go_on(iterator):
            return self._tqm.RUN_FAILED_BREAK_PLAY
        result = super().run(iterator, play_context)
        return result if self._may_go_on(iterator) else self._tqm.RUN_FAILED_BREAK_PLAY
