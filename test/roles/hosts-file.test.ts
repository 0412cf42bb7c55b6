import { describe, expect, it } from 'vitest';
import { onSmallDisk, read } from './small-host.fixture.ts';

const VARS = "CLUSTER_ID=mine ENDPOINT_NAME=api.demo ENDPOINT_ADDRESSES='10.0.0.1 10.0.0.2' DID=\n";

/** Returns /etc/hosts after our lines were written and after a reset, in a locale in which not every byte is a letter. */
async function written(before: string) {
  const scripts = async (...names: string[]) => {
    const texts = await Promise.all(names.map((name) => read(`roles/host/files/${name}`)));
    const steps = texts.map((text) => `( ${text}\n) || exit 1\n`).join('');
    const text = `main() {\n${VARS}${await read('files/prelude.sh')}\nROLE=host\n${steps}}\nmain </dev/null\n`;
    const { reference, before: was } = await onSmallDisk({
      text,
      roomy: true,
      command: 'LC_ALL=C.UTF-8 bash -s',
      before: `printf '${before}' > /etc/hosts`,
    });
    expect([reference.code, reference.stderr]).toEqual([0, '']);
    const bytes = (files: Map<string, string>) =>
      Buffer.from(files.get('/etc/hosts') ?? '', 'base64').toString('latin1');
    return [bytes(was), bytes(reference.files)] as const;
  };
  const [was, set] = await scripts('endpoint.sh');
  const [, again] = await scripts('endpoint.sh', 'endpoint.sh');
  const [, undone] = await scripts('endpoint.sh', 'undo.sh');
  return { was, set, again, undone };
}

describe('/etc/hosts keeps every byte that Matryoshka did not write', () => {
  it.each([
    ['a line that is not UTF-8', '127.0.0.1 localhost\\n192.0.2.1 caf\\351\\n'],
    ['lines that end as on Windows', '127.0.0.1 localhost\\r\\n192.0.2.1 a\\r\\n'],
    ['a last line without an end', '127.0.0.1 localhost\\n192.0.2.1 a'],
    ['a NUL', '127.0.0.1 localhost\\n192.0.2.1 a\\000b\\n'],
    ['a last byte that is a NUL', '127.0.0.1 localhost\\n\\000'],
    ['nothing at all', ''],
  ])('%s', async (_what, before) => {
    const { was, set, again, undone } = await written(before);
    const ours = '10.0.0.1 api.demo # matryoshka mine\n10.0.0.2 api.demo # matryoshka mine\n';
    expect(set).toBe(`${was}${was === '' || was.endsWith('\n') ? '' : '\n'}${ours}`);
    expect(again).toBe(set);
    expect(undone).toBe(was);
  });
});
