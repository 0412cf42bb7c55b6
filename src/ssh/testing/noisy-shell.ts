import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Variables from /etc/environment or a shell's files that Matryoshka's programs would read. */
export const POLLUTED: Readonly<Record<string, string>> = {
  http_proxy: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  all_proxy: 'http://127.0.0.1:9',
  no_proxy: '10.0.0.1',
  TMPDIR: '/none',
  LC_ALL: 'de_DE.UTF-8',
  LANG: 'tr_TR.UTF-8',
  KUBECONFIG: '/none',
  ETCDCTL_API: '2',
  ETCDCTL_ENDPOINTS: 'http://127.0.0.1:9',
  CONTAINERD_NAMESPACE: 'moby',
  CONTAINER_RUNTIME_ENDPOINT: 'unix:///none',
  GREP_OPTIONS: '--color=always',
  POSIXLY_CORRECT: '1',
  IFS: ':',
  CDPATH: '/',
  GLOBIGNORE: '*',
  'BASH_FUNC_cat%%': '() { echo POLLUTED; }',
};

export interface NoisyShell extends AsyncDisposable {
  folder: string;
  /** Path of a login shell that prints lines before and after every command. */
  path: string;
}

/** Creates a folder with such a shell and the given files. */
export async function noisyShell(files: Readonly<Record<string, string>>): Promise<NoisyShell> {
  const folder = await mkdtemp(join(tmpdir(), 'noisy-'));
  const path = join(folder, 'shell');
  const text =
    "#!/bin/bash\ncase $- in *i*) ;; *) echo Welcome; echo 'result: a=9'; echo 'a warning' >&2; printf 'prompt> ' ;; esac\ntrap 'code=$?; echo bye; echo bye >&2; exit $code' EXIT\neval \"$2\"\n";
  await writeFile(path, text, { mode: 0o755 });
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
  return {
    folder,
    path,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true });
    },
  };
}
