import { lstatSync, readFileSync } from 'node:fs';
import { execa } from 'execa';
import { sayOnStderr } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';

/** `make lint`: runs shellcheck over every shell script; .shellcheckrc lists the disabled checks. */
const SHEBANG = /^#!.*\b(ba|da)?sh\b/;

const { stdout } = await execa('git', ['ls-files', '--cached', '--others', '--exclude-standard']);
const files = stdout.split('\n').filter((path) => !path.startsWith('node_modules/'));
const scripts = files.flatMap((path) => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A link points at a file that the list contains too.
  if (!found?.isFile() || found.size > 1024 * 1024) return [];
  const [first = ''] = readFileSync(path, 'latin1').split('\n', 1);
  if (!path.endsWith('.sh') && !SHEBANG.test(first)) return [];
  return [{ path, hasShebang: SHEBANG.test(first) }];
});

await ensurePackages({ shellcheck: 'shellcheck' }, sayOnStderr);
let failed = false;
for (const hasShebang of [true, false]) {
  const paths = scripts.filter((script) => script.hasShebang === hasShebang).map(({ path }) => path);
  const { exitCode } = await execa(
    'shellcheck',
    ['--severity=warning', '--format=gcc', ...(hasShebang ? [] : ['--shell=bash']), ...paths],
    { stdio: 'inherit', reject: false },
  );
  failed ||= exitCode !== 0;
}
process.exitCode = failed ? 1 : 0;
