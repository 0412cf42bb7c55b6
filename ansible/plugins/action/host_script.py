"""Runs shell scripts on a host by one SSH command: their text goes through standard input, so nothing of it is in an
argument list, no file is left there, and the host needs no Python.

    - host_script:
        script: init.sh                 # in the role's files/, or ROLE/NAME.sh
        vars: {KUBE_VERSION: v1.34.4}   # become shell variables; maps and lists arrive as JSON
        timeout: 300                    # seconds
        shell: /bin/sh                  # instead of the play's ansible_shell_executable
        library: member.sh              # functions that the scripts call, in the role's files/ or ROLE/NAME.sh; several as a list
        seals: false                    # it makes nothing of the host itself, which saves the time
        secret: true                    # it answers with secrets: of a failure only the errors are told, without them
        output: /path/on/this/machine   # where standard output goes, 0600, instead of into the result

Several scripts run one after the other, and those of an inner list side by side; the first that fails ends them:

        script: [host/host.sh, [runtime/runtime.sh, kubelet/kubelet.sh]]
        go_on: true                     # run the later ones all the same, and fail at the end

It runs as root: by a user who is another through sudo, and before which the precheck has looked. It finds an environment of
ours, whatever the host's is. Its answer stands between marks: what the host's shell says before and after it is left out.

Each script stands behind files/prelude.sh and knows its role as ROLE. It says what it changed in lines `changed: …`,
answers in lines `result: key=value`, and tells what was achieved in lines `did: WORD [ADDRESS]` and
`version: NAME=VERSION` (ansible/README.md, What scripts say).
"""

import json
import os
import re
import secrets
import shlex
import sys

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_bytes, to_text
from ansible.plugins.action import ActionBase

sys.path.append(os.path.join(os.path.dirname(__file__), '..', '..', 'python'))
from redacted import redacted  # noqa: E402

# The same as in src/ssh/framed.ts.
CLEAN = """/bin/sh -c 'exec /usr/bin/env -i HOME="$HOME" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER=root LOGNAME=root LANG=C LC_ALL=C "$@"' sh """
# Both are the same as in src/ssh/sudo.ts, which gives the reasons.
SUDO = 'sudo -k -n -H -u root -- '
WITH_PASSWORD = "IFS= read -r word; printf '%s\\n' \"$word\" | sudo -k -S -p '' -H -u root -- /bin/sh -c : && { printf '%s\\nmatryoshka: input\\n' \"$word\"; cat; } | sudo -k -S -p '' -H -u root -- /bin/sh -c 'while IFS= read -r line; do [ \"$line\" != \"matryoshka: input\" ] || break; done; exec \"$@\"' sh \"$@\""
FILES = os.path.join(os.path.dirname(__file__), '..', '..', 'files')
PRELUDE = os.path.join(FILES, 'prelude.sh')
WATCH = os.path.join(FILES, 'watch')
NAME = re.compile(r'^[A-Za-z_][A-Za-z0-9_]*$')
MESSAGE_LIMIT = 1500
# Size of one piece of a file that is sent; Ansible holds it in memory.
PIECE = 32 * 1024 * 1024
# What changes on a host between the two calls is the run's own (ansible/README.md, The baseline). The run's own copy of the
# drift agent does it, because the host's may be gone. A thing without a line in the baseline would be restored to its former
# state. A reset removes the command and the baseline.
SEALING = '''sealing() {
  [ -x "$R/usr/local/sbin/matryoshka-watch" ] || [ -e "$R/etc/matryoshka/seal" ] || return 0
  bash -c "$WATCH_OF_THE_RUN" matryoshka-watch "$1" > /dev/null
}
sealing begin || [ ! -e "$R/etc/matryoshka/seal" ] || fail 'the seal of this host cannot be opened; see that /etc/matryoshka can be written'
trap 'sealing end' EXIT'''


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


# A subshell contains the script, which ends by `exit`.
FRAMED = '''framed() {
  printf '%%s\\n' '%(mark)s' >&2; printf '%%s\\n' '%(mark)s'
  ( main ) </dev/null
  set -- $?
  printf '%%s %%s\\n' '%(mark)s' "$1" >&2; printf '%%s %%s\\n' '%(mark)s' "$1"
  exit "$1"
}
framed
'''


def between(text, mark):
    """What stands between two marks, and the code behind the second. The first is missing where the script did not begin, the
    second where it was killed."""
    before, begun, rest = to_text(text).partition(mark + '\n')
    if not begun:
        return before, None
    said, _, code = rest.rpartition(mark + ' ')
    # Python refuses to read a number of thousands of digits, which a hostile host may print.
    match = re.match(r'([0-9]{1,3})\n', code)
    return (said, int(match.group(1))) if match else (rest, None)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def said(lines):
    """What the lines of scripts say, as parts of a task's result."""
    def after(word):
        return [line[len(word) + 2:].strip() for line in lines if line.startswith(word + ': ')]

    def pairs(word):
        return dict(line.split('=', 1) for line in after(word) if '=' in line)

    did, did_for = [], {}
    for line in after('did'):
        word, _, address = line.partition(' ')
        (did_for.setdefault(address, []) if address else did).append(word)
    return {'changes': after('changed'), 'facts': pairs('result'), 'versions': pairs('version'),
            'did': did, 'did_for': did_for}


class ActionModule(ActionBase):
    _VALID_ARGS = frozenset(('script', 'vars', 'timeout', 'shell', 'output', 'go_on', 'library', 'seals', 'secret', 'send'))
    _supports_check_mode = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        args = self._task.args
        unknown = set(args) - self._VALID_ARGS
        if unknown or 'script' not in args:
            raise AnsibleActionFail('host_script takes script, vars, timeout, shell, output, go_on, library, seals, secret, send; not %s' % sorted(unknown))
        variables = ''.join(assignment(key, value) for key, value in sorted((args.get('vars') or {}).items()))
        functions, calls = self._steps(args['script'], task_vars, args.get('go_on'))
        # The shell reads the whole text before it runs any of it, so that no command can consume the rest.
        libraries = args.get('library') or []
        library = '\n'.join(read(self._path(name, task_vars))
                            for name in ([libraries] if isinstance(libraries, str) else libraries))
        # The fence has not admitted the task that takes the host, which changes nothing of the baseline.
        sealing = '' if args.get('shell') or args.get('seals') is False else assignment('WATCH_OF_THE_RUN', read(WATCH)) + SEALING
        mark = 'matryoshka-' + secrets.token_hex(12)
        script = 'main() {\n%s\n%s\n%s\n%s\nfailed=0\n%s\n%s\nexit $failed\n}\n' % (
            variables, read(PRELUDE), library, functions, sealing, calls)
        script += FRAMED % {'mark': mark}
        command = '/usr/bin/timeout -k 10 %d /bin/bash -s' % int(args.get('timeout', 600))
        # Not `become`: sudo runs the fence, because the fence must be between root and the command.
        shell = CLEAN + (args.get('shell') or self._play_context.executable)
        before = ''
        if self._get_remote_user() not in (None, '', 'root'):
            if self._sudo_asks(task_vars or {}):
                shell = '/bin/sh -c %s sh %s' % (shlex.quote(WITH_PASSWORD), shell)
                before = '%s\n' % to_text(self._play_context.password)
            else:
                shell = SUDO + shell
        if args.get('send'):
            problem = self._send(args['send'], shell, to_bytes(before))
            if problem:
                result.update(failed=True, rc=1, msg=problem[-MESSAGE_LIMIT:])
                return result
        script = before + script
        answer = self._low_level_execute_command(command, in_data=to_bytes(script), sudoable=False, executable=shell)

        stdout, code = between(answer['stdout'], mark)
        stderr, _ = between(answer['stderr'], mark)
        rc = answer['rc'] if code is None else code
        found = said(stdout.splitlines())
        result.update(rc=rc, changed=bool(found['changes']), **found)
        if rc != 0 or code is None:
            message = stderr.strip()
            if args.get('secret'):
                message = redacted(message, found['facts'].values())
            else:
                message = message or stdout.strip()
            if rc == 124:
                message = 'not done within %s s\n%s' % (args.get('timeout', 600), message)
            result.update(failed=True, msg=message[-MESSAGE_LIMIT:] or ('exit code %d' % rc if rc else 'it did not run to its end'))
        elif args.get('output'):
            with open(os.open(args['output'], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 'w') as file:
                file.write(stdout)
        else:
            result.update(msg='; '.join(found['changes'])[:MESSAGE_LIMIT])
        return result

    def _send(self, send, shell, before):
        """Writes a file of the run on the host, in pieces, each through the fence. Returns what is wrong."""
        to = shlex.quote(send['to'])
        sign = '>'
        with open(send['from'], 'rb') as file:
            while True:
                piece = file.read(PIECE)
                if not piece and sign == '>>':
                    return None
                answer = self._low_level_execute_command("umask 077; cat %s %s || echo 'the file cannot be written' >&2" % (sign, to),
                                                         in_data=before + piece, sudoable=False, executable=shell)
                if answer['rc'] != 0 or to_text(answer['stderr']).strip().endswith('the file cannot be written'):
                    return '%s: %s' % (send['to'], to_text(answer['stderr']).strip() or 'exit code %d' % answer['rc'])
                sign = '>>'

    def _sudo_asks(self, task_vars):
        # A delegated task is sent to the other host, with that host's password.
        to = self._task.delegate_to
        return (task_vars['hostvars'][to] if to else task_vars).get('sudo_asks')

    def _path(self, name, task_vars):
        if '/' not in name:
            return self._find_needle('files', name)
        role, script = name.split('/')
        return os.path.join(task_vars['playbook_dir'], 'roles', role, 'files', script)

    def _steps(self, scripts, task_vars, go_on):
        """Shell functions, one a script, and the lines that call them."""
        functions, calls = [], []

        def function(name):
            role = name.split('/')[0] if '/' in name else self._task._role.get_name()
            called = 'step_%d' % len(functions)
            functions.append('%s() {\nROLE=%s\n%s\n}' % (called, shlex.quote(role), read(self._path(name, task_vars))))
            return called

        for step in [scripts] if isinstance(scripts, str) else scripts:
            if isinstance(step, str):
                calls.append('( %s ) || case $? in 3) exit 1 ;; 4) exit $failed ;; *) failed=1 ;; esac' % function(step))
            else:
                # A script that fails ends its subshell with the reason on standard error. The others finish.
                names = [function(name) for name in step]
                calls.append('pids=\n%s' % '\n'.join('( %s ) & pids="$pids $!"' % name for name in names))
                calls.append('for pid in $pids; do wait "$pid" || failed=1; done')
            if not go_on:
                calls.append('[ "$failed" = 0 ] || exit 1')
        return '\n'.join(functions), '\n'.join(calls)
