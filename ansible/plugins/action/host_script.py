"""Runs one shell script on a host: its text goes through standard input, so nothing of it is in an argument list,
no file is left there, and the host needs no Python.

    - host_script:
        script: node.sh                 # in the role's files/
        vars: {KUBE_VERSION: v1.34.4}   # become shell variables; maps and lists arrive as JSON
        timeout: 300                    # seconds
        shell: /bin/sh                  # instead of the play's ansible_shell_executable
        output: /path/on/this/machine   # where standard output goes, 0600, instead of into the result

A script says what it changed in lines `changed: …` and answers in lines `result: key=value`.
"""

import json
import os
import re
import shlex

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_bytes, to_text
from ansible.plugins.action import ActionBase

NAME = re.compile(r'^[A-Za-z_][A-Za-z0-9_]*$')
MESSAGE_LIMIT = 1500


def assignment(name, value):
    if not NAME.match(name):
        raise AnsibleActionFail('not a name of a shell variable: %s' % name)
    # A template that renders to nothing renders to None.
    if value is None:
        value = ''
    elif isinstance(value, bool):
        value = 'true' if value else 'false'
    elif not isinstance(value, (str, int, float)):
        value = json.dumps(value)
    return '%s=%s\n' % (name, shlex.quote(str(value)))


class ActionModule(ActionBase):
    _VALID_ARGS = frozenset(('script', 'vars', 'timeout', 'shell', 'output'))
    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        args = self._task.args
        unknown = set(args) - self._VALID_ARGS
        if unknown or 'script' not in args:
            raise AnsibleActionFail('host_script takes script, vars, timeout, shell, output; not %s' % sorted(unknown))
        path = self._find_needle('files', args['script'])
        with open(path, encoding='utf-8') as file:
            text = file.read()
        variables = ''.join(assignment(key, value) for key, value in sorted((args.get('vars') or {}).items()))
        # The whole text is read before any of it runs, so that no command of it can eat the rest.
        script = 'main() {\n%s\n%s\n}\nmain </dev/null\n' % (variables, text)
        command = '/usr/bin/timeout -k 10 %d /bin/bash -s' % int(args.get('timeout', 600))
        options = {'in_data': to_bytes(script), 'sudoable': False}
        if args.get('shell'):
            options['executable'] = args['shell']
        answer = self._low_level_execute_command(command, **options)

        lines = answer['stdout_lines']
        changes = [line[9:] for line in lines if line.startswith('changed: ')]
        facts = dict(line[8:].split('=', 1) for line in lines if line.startswith('result: ') and '=' in line)
        result.update(rc=answer['rc'], changed=bool(changes), changes=changes, facts=facts)
        if answer['rc'] != 0:
            message = to_text(answer['stderr']).strip() or to_text(answer['stdout']).strip()
            if answer['rc'] == 124:
                message = 'not done within %s s\n%s' % (args.get('timeout', 600), message)
            result.update(failed=True, msg=message[-MESSAGE_LIMIT:] or 'exit code %d' % answer['rc'])
        elif args.get('output'):
            with open(os.open(args['output'], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w') as file:
                file.write(answer['stdout'])
        else:
            result.update(msg='; '.join(changes)[:MESSAGE_LIMIT])
        return result
