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
/** `when` of a task: facts that are to be there, or not to be; one that looks asks for nothing and changes nothing. */
const holds = (when: string, facts: Vars) =>
  when !== '' &&
  when.split(' and ').every((part) => {
    const [, name = '', not] = /^compared\.facts\.(\w+) is (not )?defined$/.exec(part) ?? [];
    return (facts[name] === undefined) === (not !== undefined);
  });
type Vars = Readonly<Record<string, string>>;

/** The scripts of the role `repair` on a directory that stands for a host. */
export function repairRole({ bash, run }: Pick<ReturnType<typeof watchedHost>, 'bash' | 'run'>) {
  /** What a script of the role prints, behind what host_script puts before it; its failure is a line `failed: …`. */
  const script = (name: string, vars: Vars = {}) => {
    const said = Object.entries({
      ETCD_HERE: 'yes',
      ETCD_SERVERS: 'https://127.0.0.1:2379',
      ETCD_ONLY: '',
      ...vars,
    }).map(([key, value]) => `${key}='${value.replaceAll("'", `'\\''`)}'\n`);
    const body = `${read('files/prelude.sh')}\n${role('seal.sh')}\n${role('etcd-data.sh')}\n${role('etcd-start.sh')}
${role('put.sh')}\nROLE=repair\n( ${name.includes('/') ? read(`roles/${name}`) : role(name)}\n)`;
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
  /** Both sides of a task that puts back: what changes between begin and end is sealed. */
  async function putBack(more: Vars = {}): Promise<string> {
    const { differs = '' } = await compare();
    await run('begin');
    const said = await script('put-back.sh', { DIFFERS: differs, ONLY_DEAD: '', ...more });
    await run('end');
    return said;
  }
  /** What the tasks say that change something, in their order, each between begin and end; without the roles' scripts. */
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
