"""What a run does once instead of once a worker. Ansible forks one for each task of each host, which loads what it needs,
compiles every template that it meets, and ends: by far the most of a run's own time.

By internals of ansible-core 2.21: another version may need other words here, and then no playbook runs at all.
"""

import gc
import glob
import os

import yaml
from ansible._internal._task import HostTaskResult, TaskContext, UnifiedTaskResult
from ansible._internal._templating._jinja_bits import AnsibleEnvironment, _TemplateCompileContext
from ansible.errors import AnsibleError
from ansible.plugins.loader import filter_loader, test_loader
from jinja2.environment import TemplateExpression

ROLES = os.path.join(os.path.dirname(__file__), '..', 'roles')
_compile, _compile_expression = AnsibleEnvironment.compile, AnsibleEnvironment.compile_expression
# Code by kind and text of its template, and by whether backslashes are escaped in it.
_compiled = {}


def prepare():
    """Before the first worker: each inherits what is loaded here."""
    for loader in (filter_loader, test_loader):
        list(loader.all())
    AnsibleEnvironment.compile = compile_once
    AnsibleEnvironment.compile_expression = compile_expression_once
    environment = AnsibleEnvironment()
    with _TemplateCompileContext(escape_backslashes=True):
        for template in templates():
            environment.from_string(template)
    # A worker that collects garbage would write to each of these objects, and so copy all of the memory that holds them.
    gc.freeze()


def templates():
    """Those of the roles: in all, they take a tenth of a second."""
    left = []
    for part in ('vars', 'defaults', 'tasks'):
        for path in glob.glob(os.path.join(ROLES, '*', part, '*.yml')):
            with open(path, encoding='utf-8') as file:
                left.append(yaml.load(file, yaml.CSafeLoader))
    while left:
        value = left.pop()
        if isinstance(value, (dict, list)):
            left.extend(value.values() if isinstance(value, dict) else value)
        elif isinstance(value, str) and ('{{' in value or '{%' in value):
            yield value


def passed_over(host, task, task_vars):
    """The result of a task whose condition does not hold, else nothing: then a worker has to look."""
    if not task.when or task.loop or task.delegate_to:
        return None
    try:
        with TaskContext.create(task=task, task_vars=task_vars, host_name=host.get_name()):
            holds, condition = task._resolve_conditional_with_item(task.when, task_vars)
            if holds:
                return None
            result = UnifiedTaskResult.record_conditional_false(condition)
            result.finalize_registered_values()
            return HostTaskResult(host=host, task=task, utr=result)
    except AnsibleError:
        # The worker meets it as well, and tells it as its result.
        return None
    finally:
        task_vars.pop('_task', None)


def _key(kind, source):
    context = _TemplateCompileContext.current(optional=True)
    return kind, bool(context and context.escape_backslashes), str(source)


def compile_once(self, source, name=None, filename=None, raw=False, defer_init=False):
    """Environment.compile of Jinja. An expression comes as a tree; whose it is, the one below has written down."""
    key = _key('template', source) if isinstance(source, str) else self.__dict__.pop('_expression', None)
    if key is None or self.overlayed or raw or defer_init or name is not None or filename is not None:
        return _compile(self, source, name, filename, raw, defer_init)
    if key not in _compiled:
        _compiled[key] = _compile(self, source)
    return _compiled[key]


def compile_expression_once(self, source, undefined_to_none=True):
    """Environment.compile_expression of Jinja."""
    key = _key('expression', source)
    if key in _compiled and not self.overlayed:
        template = self.template_class.from_code(self, _compiled[key], self.make_globals(None), None)
        return TemplateExpression(template, undefined_to_none)
    self._expression = key
    try:
        return _compile_expression(self, source, undefined_to_none)
    finally:
        self.__dict__.pop('_expression', None)
