import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import type { watchedHost } from './watched-host.fixture.ts';

const ansible = join(import.meta.dirname, '../..', 'ansible');
export const read = (path: string) => readFileSync(join(ansible, path), 'utf8');
const role = (name: string) => read(`roles/repair/files/${name}`);
const Tasks = z.array(
  z.object({ when: z.string().default(''), host_script: z.object({ script: z.string() }) }),
);
/**
 * Evaluates `when` of a task: facts that must be defined or undefined. A task without `when` only checks and changes
 * nothing.
 */
const holds = (when: string, facts: Vars) =>
  when !== '' &&
  when.split(' and ').every((part) => {
    const [, name = '', not] = /^compared\.facts\.(\w+) is (not )?defined$/.exec(part) ?? [];
    return (facts[name] === undefined) === (not !== undefined);
  });
type Vars = Readonly<Record<string, string>>;

/** Runs the scripts of the role `repair` on a directory that represents a host. */
export function repairRole({ bash, run }: Pick<ReturnType<typeof watchedHost>, 'bash' | 'run'>) {
  /**
   * Returns the output of a role script, which gets the same text before it as from host_script. A failure adds a line
   * `failed: …`.
   */
  const script = (name: string, vars: Vars = {}, libraries: readonly string[] = []) => {
    const said = Object.entries({
      ETCD_HERE: 'yes',
      ETCD_SERVERS: 'https://127.0.0.1:2379',
      ETCD_ONLY: '',
      ...vars,
    }).map(([key, value]) => `${key}='${value.replaceAll("'", `'\\''`)}'\n`);
    const body = `${read('files/prelude.sh')}\n${role('seal.sh')}\n${role('etcd-data.sh')}\n${role('etcd-start.sh')}
${role('put.sh')}\n${libraries.map((path) => read(`roles/${path}`)).join('\n')}\nROLE=repair\n( ${name.includes('/') ? read(`roles/${name}`) : role(name)}\n)`;
    return bash(
      ['-s'],
      `main() {\n${said.join('')}${body}\ncase $? in 0 | 4) ;; *) echo failed: "$?" ;; esac\n}\nmain 2>&1 </dev/null\n`,
    );
  };
  const compare = async (vars: Vars = {}) => {
    const said = await script('compare.sh', { WATCH: read('files/watch'), ...vars });
    const facts = said.split('\n').flatMap((line) => {
      const [, key, value] = /^result: (\w+)=(.*)$/.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, value.trim()] as const];
    });
    return Object.fromEntries(facts);
  };
  /** Runs a restoring task with `begin` before and `end` after it; changes between them become part of the baseline. */
  async function putBack(more: Vars = {}): Promise<string> {
    const { differs = '' } = await compare();
    await run('begin');
    const said = await script('put-back.sh', { DIFFERS: differs, ONLY_DEAD: '', ...more });
    await run('end');
    return said;
  }
  /**
   * Returns the output of the changing tasks in order, each between `begin` and `end`. The task that
   * restores files runs `put-back.sh` only, without the scripts of other roles.
   */
  async function inOrder(): Promise<string> {
    const facts = await compare();
    const vars = {
      WATCH: read('files/watch'),
      NODE_NAME: 'n1',
      DIFFERS: facts['differs'] ?? '',
      ONLY_DEAD: '',
    };
    const said: string[] = [];
    for (const task of Tasks.parse(parse(read('roles/repair/tasks/main.yml')))) {
      if (!holds(task.when, facts)) continue;
      await run('begin');
      const name = task.host_script.script;
      said.push(await script(name.endsWith('.sh') ? name.replace('/', '/files/') : 'put-back.sh', vars));
      await run('end');
    }
    return said.join('\n');
  }
  const verify = () => script('verify.sh', { WATCH: read('files/watch'), TRIES: '1' });
  return { script, compare, putBack, verify, inOrder };
}
