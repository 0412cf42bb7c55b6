"""Each host at its own pace, as `free` does. A host that fails leaves its wave; the others go on, through all plays,
while every control plane that joins or stays, and at least one of the hosts that join, is left; one that was away from the
beginning (`untouched`) is not needed. Otherwise the playbook
ends there, and the play `Complete` is never reached. A play with `max_fail_percentage: 0` ends it after any host that
failed, once the others of its batch (`serial`) are done.

Hosts that leave may all fail: plays of theirs have `localhost` in their pattern, which does nothing, so that Ansible
does not end the playbook because every host of a play has failed.

Once the file that MATRYOSHKA_STOP_FILE names is there, no task is started any more: those that run are awaited, and the
playbook ends. A play whose name is in MATRYOSHKA_UNCUT, a JSON list, is finished first, or its batch.
"""

import json
import os
from collections import deque

from ansible.executor.play_iterator import IteratingStates
from ansible.plugins.strategy.free import StrategyModule as Free

DOCUMENTATION = """
name: waves
short_description: as free, but a host that fails does not end the playbook unless nothing is left to do
description: as free, but a host that fails does not end the playbook unless nothing is left to do
"""


STOP_FILE = os.environ.get('MATRYOSHKA_STOP_FILE', '')
# `Complete` does nothing: all steps before it are done.
UNCUT = frozenset(json.loads(os.environ.get('MATRYOSHKA_UNCUT') or '[]')) | {'Complete'}


# Interval at which requests of workers and the stop file are checked while no result arrives.
LOOK_SECONDS = 0.05
# Longest interval between passes over the hosts. A host that waits for its turn at a task with `throttle` gets no notice,
# because the worker before it ends a little after its result. A pass is expensive, since it assembles all variables of such
# a host. So the interval doubles up to this.
PASS_SECONDS = 1.0


class Results(deque):
    """Says when a result comes: the base class looks every few milliseconds, which takes a tenth of a processor."""

    def __init__(self, lock):
        super().__init__()
        self._lock = lock

    def append(self, result):
        # The caller holds the lock.
        super().append(result)
        self._lock.notify()


class StrategyModule(Free):
    _cuttable = False
    _moved = False
    _patience = LOOK_SECONDS

    def __init__(self, tqm):
        super().__init__(tqm)
        self._results = Results(self._results_lock)

    def _await_result(self):
        waited = 0.0
        with self._results_lock:
            while not self._results and waited < self._patience and self._rpc_queue.empty():
                self._results_lock.wait(LOOK_SECONDS)
                waited += LOOK_SECONDS
                # The stop file is checked only here, because running tasks may take minutes.
                if self._stops():
                    break
            self._patience = LOOK_SECONDS if self._results else min(2 * self._patience, PASS_SECONDS)

    def _execute_meta(self, *args, **kwargs):
        # Such a task has no result to wait for, so its host may get the next task at once.
        self._moved = True
        return super()._execute_meta(*args, **kwargs)

    def _process_pending_results(self, *args, **kwargs):
        if self._pending_results > 0 and not self._moved:
            self._await_result()
        self._moved = False
        return super()._process_pending_results(*args, **kwargs)

    def _stops(self):
        return self._cuttable and STOP_FILE != '' and os.path.exists(STOP_FILE)

    def get_hosts_left(self, iterator):
        # Without hosts, the base class waits for running tasks and ends the play.
        return [] if self._stops() else super().get_hosts_left(iterator)

    def _queue_task(self, host, task, task_vars, play_context):
        # With more hosts than forks, one pass over them takes long.
        if self._stops():
            return
        super()._queue_task(host, task, task_vars, play_context)

    def _members(self, *groups):
        found = (self._inventory.groups.get(group) for group in groups)
        return {host.name for group in found if group for host in group.get_hosts()}

    def _may_go_on(self, iterator):
        lost = set(iterator.get_failed_hosts()) | set(self._tqm._unreachable_hosts) | set(self._tqm._failed_hosts)
        if lost and iterator._play.max_fail_percentage == 0:
            return False
        needed = self._members('kube-master', 'etcd') - self._members('leave', 'untouched')
        joining = self._members('join')
        return not (needed & lost) and not (joining and joining <= lost)

    def run(self, iterator, play_context):
        if iterator._play.get_name() != 'Complete' and 'localhost' in iterator.host_states:
            iterator.set_run_state_for_host('localhost', IteratingStates.COMPLETE)
        # Between two batches every play may be cut.
        self._cuttable = iterator._play.get_name() not in UNCUT or bool(iterator._play.serial)
        if self._stops() or not self._may_go_on(iterator):
            return self._tqm.RUN_FAILED_BREAK_PLAY
        self._cuttable = iterator._play.get_name() not in UNCUT
        result = super().run(iterator, play_context)
        return result if self._may_go_on(iterator) and not self._stops() else self._tqm.RUN_FAILED_BREAK_PLAY
