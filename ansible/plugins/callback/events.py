"""Prints one JSON line an event: what runs, where, how it ended, how long it took. Never a task's whole result.

Lines go to the file or descriptor that MATRYOSHKA_EVENTS names (`/path` or a number), by default standard output.
"""

import json
import os
import sys
import time
from datetime import datetime, timezone

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: events
type: stdout
short_description: one JSON line an event
description: one JSON line an event, for programs that follow a run
"""

MESSAGE_LIMIT = 1000


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'events'

    def __init__(self):
        super().__init__()
        target = os.environ.get('MATRYOSHKA_EVENTS', '')
        if target.isdigit():
            self._out = os.fdopen(int(target), 'w', buffering=1)
        elif target:
            self._out = open(target, 'a', buffering=1)
        else:
            self._out = sys.stdout
        self._play = None
        self._started = {}

    def _emit(self, event, **fields):
        line = {'time': datetime.now(timezone.utc).isoformat(timespec='milliseconds').replace('+00:00', 'Z'),
                'event': event, **{key: value for key, value in fields.items() if value is not None}}
        if self._play and event != 'play':
            line.setdefault('play', self._play)
        self._out.write(json.dumps(line) + '\n')
        self._out.flush()

    def _result(self, event, result, message=None):
        # A task that answers with secrets has none of them in its message (host_script, `secret`).
        task = result.task
        host = result.host.get_name()
        start = self._started.get((task._uuid, host))
        if message is None:
            content = result.result
            message = content.get('msg')
            if event in ('failed', 'unreachable') and not message:
                message = content.get('stderr') or content.get('exception') or content.get('censored')
        content = result.result
        # The results of a script, for its own host or for others, and the versions that it found there.
        said = {key: content[key] for key in ('did', 'did_for', 'versions') if content.get(key)}
        self._emit(event, task=task.get_name(), host=host, message=trimmed(message), **said,
                   seconds=None if start is None else round(time.monotonic() - start, 2))

    def v2_playbook_on_play_start(self, play):
        self._play = play.get_name()
        self._emit('play', play=self._play)
        # This is the last play of every playbook. The run has succeeded now, and in no other case.
        if self._play == 'Complete':
            self._emit('complete')

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._emit('task', task=task.get_name())

    def v2_runner_on_start(self, host, task):
        self._started[(task._uuid, host.get_name())] = time.monotonic()
        self._emit('start', task=task.get_name(), host=host.get_name())

    def v2_runner_on_ok(self, result):
        self._result('changed' if result.result.get('changed') else 'ok', result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._result('ignored' if ignore_errors else 'failed', result)

    def v2_runner_on_unreachable(self, result):
        self._result('unreachable', result)

    def v2_runner_on_skipped(self, result):
        self._result('skipped', result, message='')

    def v2_playbook_on_no_hosts_remaining(self):
        cancelled = os.path.exists(os.environ.get('MATRYOSHKA_STOP_FILE', ''))
        self._emit('stopped', message='cancelled: nothing more is started' if cancelled
                   else 'no host is left to go on with')

    def v2_playbook_on_stats(self, stats):
        hosts = {host: {key: value for key, value in stats.summarize(host).items() if value}
                 for host in sorted(stats.processed)}
        self._emit('stats', hosts=hosts)


def trimmed(message):
    if message is None or message == '':
        return None
    text = message if isinstance(message, str) else json.dumps(message, default=str)
    text = text.strip()
    return text if len(text) <= MESSAGE_LIMIT else '…' + text[-MESSAGE_LIMIT:]
