import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '#base/errors.ts';
import { sayOnStderr as say } from '#lab/artifacts/progress.ts';
import { ensurePackages } from '#lab/hosts/packages.ts';
import {
  amendBaseline,
  type Figure,
  isShort,
  readBaseline,
  row,
  worsened,
  writeBaseline,
} from '../figures.ts';
import { measureIngress } from './ingress.ts';
import { measureIngressChanges } from './ingress-changes.ts';
import { measureInstalledIngress } from './ingress-installed.ts';
import { measureLocalServices } from './local-service.ts';
import { measureWorkspaces } from './workspace.ts';

/** Figures of the add-ons (`make bench-addons`); PARTS selects some of them. Exits with 1 if one misses its bound. */
const parts = {
  localservice: measureLocalServices,
  workspace: measureWorkspaces,
  ingress: measureIngress,
  installed: measureInstalledIngress,
  changes: measureIngressChanges,
};
const baselinePath = join(import.meta.dirname, 'baseline.tsv');

try {
  const wanted = (process.env['PARTS'] ?? Object.keys(parts).join(',')).split(',');
  if (['ingress', 'installed', 'changes'].some((part) => wanted.includes(part)))
    await ensurePackages({ nginx: 'nginx-light', wrk: 'wrk' }, say);
  const figures: Figure[] = [];
  const lines: string[] = [];
  for (const [name, measure] of Object.entries(parts)) {
    if (!wanted.includes(name)) continue;
    const measured = await measure(say);
    figures.push(...measured.figures);
    lines.push(...measured.lines);
  }
  const about = `${availableParallelism()} cores`;
  const baseline = await readBaseline(baselinePath);
  const worse = baseline === undefined ? ['no baseline yet'] : worsened(figures, baseline);
  const reported =
    worse.length > 0 ? worse : ['nothing is more than 10 % worse than bench/addons/baseline.tsv'];
  process.stdout.write(`${[about, ...lines, ...figures.map(row), ...reported].join('\n')}\n`);
  if (baseline === undefined) await writeBaseline(baselinePath, about, figures);
  else if (process.env['BASELINE'] === '1') await amendBaseline(baselinePath, figures);
  if (figures.some(isShort)) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`bench: ${(error instanceof Error && error.stack) || messageOf(error)}\n`);
  process.exitCode = 1;
}
