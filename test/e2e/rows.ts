import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/*
 * What runs beside what, and in which order: those first that take longest or wait for long; begun last, one of them would
 * run on alone. main.ts says which row waits for which.
 */

/**
 * Clusters of several control planes. What computes most (half-done, cut-short, external-etcd) runs beside what waits most;
 * `lost-objects` comes last, so that all lanes end together.
 */
const HEAVY = [
  'half-done',
  'repair',
  'cut-short',
  'host-faults',
  'external-etcd',
  'highly-available',
  'host-lost',
  'away',
  'power-cut',
  'lost-objects',
];
/**
 * Clusters of one control plane, but for the smoke (life-by-rest): they wait for most of their time, and run one after the
 * other beside the others. Three of those at once take as long as two, and wait for each other in what they measure.
 */
const LIGHT = [
  'meanwhile',
  'drift',
  'changes',
  'hooks',
  'hosts',
  'cancel',
  'dual-stack',
  'life-by-annotation',
  'refusals',
  'unfit-hosts',
  'sudo',
  // Three control planes as well, and so not at first, when all lanes make clusters at once.
  'life-by-rest',
];
/** They do not care who leads, or since when, and run beside the one that kills the operator again and again, as long as it does. */
const UNATTENDED = ['variants', 'settings', 'network', 'policies'];
/** On one cluster, after those of `disturbing`: they do not care either. */
const ADDONS = ['ingress', 'workspace', 'local-service'];

const paths = (names: readonly string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`);

/** Files of each row, from the root of the project; a new one is of the first, at its end. */
export const ROWS = {
  attended: {
    include: ['test/e2e/*.test.ts'],
    exclude: paths([...LIGHT, ...UNATTENDED]),
  },
  attendedLight: { include: paths(LIGHT) },
  unattended: { include: ['test/e2e/unattended/*.test.ts', ...paths(UNATTENDED)] },
  addons: { include: ['test/e2e/addons/*.test.ts'] },
  disturbing: { include: ['test/e2e/disturbing/*.test.ts'] },
};

const ORDER = [...HEAVY, ...LIGHT, 'operator-killed', ...UNATTENDED, ...ADDONS];
const rank = ({ moduleId }: TestSpecification): number => {
  const found = ORDER.indexOf(basename(moduleId, '.test.ts'));
  return found < 0 ? ORDER.length : found;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}
