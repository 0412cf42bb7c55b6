import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { describe, expect, it } from 'vitest';
import { type Row, rows } from './full-disk-rows.fixture.ts';
import { onSmallDisk, type Ran, read } from './small-host.fixture.ts';

const roles = join(import.meta.dirname, '../..', 'ansible', 'roles');
const scripts = (await readdir(roles, { recursive: true })).filter((name) => /\/files\/.*\.sh$/.test(name));
/** Libraries of functions, which the scripts of the rows run. */
const LIBRARIES =
  /etcd\/files\/(etcd|join|let-go|components)|control-plane\/files\/(shared|member|init-library|begin-etcd)|repair\/files\/(put|seal|etcd-start|pods)|renew\/files\/kubelet|reconfigure\/files\/(former|components)|rotate\/files\/keys|restore\/files\/keep|upgrade\/files\/(programs|applied|former|switch)|network\/files\/rules/;
/** Its list of pods that block a drain exists on the control plane during the drain, and the output has it afterwards. */
const OTHERS = /drain\/files\/evict/;
const WRITES =
  /(?<!-)\b(own|put|mark|unpack|binary|archive|overwrite|write_file|add_made|enable_unit|put_copy|differing|bring_programs|mv|cp|tee|install|truncate) |sed -i|>\s*"?[$/]/;
const codeOf = (text: string) =>
  text.replaceAll(/^\s*#.*$/gm, '').replaceAll(/[0-9&]?<?> ?(\/dev\/(null|tcp)|&[0-9])/g, '');

const canMount =
  (await execa('unshare', ['--mount', '--pid', '--fork', 'true'], { reject: false })).exitCode === 0;

const textOf = async (name: string, { vars = '', library = [], text }: Row): Promise<string> => {
  if (text !== undefined) return text;
  const [role = '', script = ''] = name.split('/');
  const libraries = await Promise.all(library.map((path) => read(`roles/${path.replace('/', '/files/')}`)));
  const script_ = await read(`roles/${role}/files/${script}`);
  const head = [await read('files/prelude.sh'), ...libraries].join('\n');
  return `main() {\n${vars}\n${head}\nROLE=${role}\n( ${script_}\n)\ncase $? in 0 | 4) exit 0 ;; esac\nexit 1\n}\nmain </dev/null\n`;
};
/** Temporary files: output of programs, downloads that are not unpacked yet, and files set aside. */
const PASSING =
  /^\/run\/matryoshka\/.*(\.out|\.log|\.why|stopped)$|^\/var\/lib\/matryoshka\/(image-|containerd$|cni-plugins$|flannel-cni-plugin$|repair\.old|set-aside|[^/]*\.image\/)|\/\.[^/]*\.matryoshka\//;
/** Files that contain modification times of other files. */
const DATED = /^\/run\/matryoshka\/watch\/|^\/etc\/matryoshka\/(seal|kept\/)/;
const plain = (text = '') => Buffer.from(text, 'base64').toString('latin1');

/** Returns files that match neither their previous nor their final content. */
function halfWritten(
  ran: Ran,
  before: Map<string, string>,
  after: Map<string, string>,
  { varies, others }: Row,
): string[] {
  const wrong: string[] = [];
  for (const [path, content] of ran.files) {
    if (PASSING.test(path) || others?.test(path)) continue;
    if (/\.matryoshka-new$|\/\.matryoshka-new\//.test(path)) wrong.push(`${path} is left`);
    if (content === before.get(path) || content === after.get(path)) continue;
    const known = new Set(`${plain(before.get(path))}\n${plain(after.get(path))}`.split('\n'));
    const isList = /\/etc\/matryoshka\/made$|\/var\/lib\/matryoshka\/repair$/.test(path);
    if (
      isList &&
      plain(content).endsWith('\n') &&
      plain(content)
        .split('\n')
        .every((line) => known.has(line))
    )
      continue;
    if ((varies?.test(path) || DATED.test(path)) && (content !== '' || path.startsWith('/run/'))) continue;
    wrong.push(`${path}: ${JSON.stringify(plain(content).slice(0, 200))}`);
  }
  for (const path of before.keys())
    if (after.has(path) && !ran.files.has(path) && !/\/pki\/apiserver\./.test(path) && !others?.test(path))
      wrong.push(`${path} is gone`);
  return wrong;
}

/** Returns files that differ from the reference's. */
const differing = (ran: Ran, reference: Ran, { varies, others }: Row): string[] =>
  [...new Set([...ran.files.keys(), ...reference.files.keys()])].filter(
    (path) =>
      !PASSING.test(path) &&
      !DATED.test(path) &&
      !varies?.test(path) &&
      !others?.test(path) &&
      !sameText(path, ran.files.get(path), reference.files.get(path)),
  );
const sorted = (text?: string) => plain(text).split('\n').sort().join('\n');
const sameText = (path: string, a?: string, b?: string) =>
  a === b || (path === '/etc/matryoshka/made' && sorted(a) === sorted(b));

describe.skipIf(!canMount)('on a full disk', () => {
  it.each(Object.keys(rows))(
    '%s reports the error, leaves no partial file, and succeeds once there is space',
    async (name) => {
      const row: Row = rows[name] ?? {};
      const text = await textOf(name, row);
      const { before, reference, tight } = await onSmallDisk({ ...row, text });
      expect([reference.code, reference.stderr]).toEqual([0, '']);
      for (const { first, second } of tight) {
        const where = `with ${first.pages} pages free`;
        if (first.code === 0) expect(differing(first, reference, row), where).toEqual([]);
        else expect(first.stderr, where).toMatch(/No space left on device|see that there is room/);
        expect(halfWritten(first, before, reference.files, row), where).toEqual([]);
        if (first.code === 0 && row.once) continue;
        expect([second.code, second.stderr], `after ${where}`).toEqual([0, expect.anything()]);
        expect(differing(second, reference, row), `after ${where}`).toEqual([]);
      }
      // The last run had enough space.
      expect(tight.at(-1)?.first.code).toBe(0);
    },
    600_000,
  );
});

it.skipIf(!canMount)('the fence keeps the previous owner if there is no space for a new one', async () => {
  const row = rows['the fence: take by a later run'] ?? {};
  const { before, tight } = await onSmallDisk({ ...row, text: row.text ?? '' });
  const owner = '/etc/matryoshka/owner.json';
  const full = tight.filter(({ first }) => first.code !== 0).map(({ first }) => first);
  expect(full.map(({ files }) => files.get(owner))).toEqual(full.map(() => before.get(owner)));
  expect(full[0]?.stderr).toContain(`${owner} cannot be written: No space left on device`);
});

it('every script that writes on a host has a test with a full disk', async () => {
  const untried: string[] = [];
  for (const script of scripts) {
    if (LIBRARIES.test(script) || OTHERS.test(script)) continue;
    const name = script.replace('/files/', '/');
    if (!(name in rows) && WRITES.test(codeOf(await read(`roles/${script}`)))) untried.push(name);
  }
  expect(untried).toEqual([]);
});

it('fence, prelude and drift agent share the code that writes files', async () => {
  const lines = async (name: string) =>
    /\n(# --- writing files: .*?# --- end of writing files)\n/s.exec(await read(`files/${name}`))?.[1];
  const [ofPrelude, ...others] = await Promise.all(['prelude.sh', 'fence', 'watch'].map(lines));
  expect(ofPrelude).toContain('write_file() {');
  expect(others).toEqual([ofPrelude, ofPrelude]);
});
