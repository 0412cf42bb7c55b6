import { basename } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The longest files of each row of `make e2e`, and those that wait for long; begun last, one of them would run on alone. */
const LONGEST = [
  'half-done',
  'cut-short',
  'etcd-apart',
  'repair',
  'host-faults',
  'highly-available',
  'host-lost',
  'operator-killed',
  'workspace',
  'settings',
  'variants',
  'life-by-rest',
  'lost-objects',
  'meanwhile',
  'drift',
  'changes',
  'kstatus',
  'hooks',
  'hosts',
  'ingress',
  'network',
];

const rank = ({ moduleId }: TestSpecification): number => {
  const found = LONGEST.indexOf(basename(moduleId, '.test.ts'));
  return found < 0 ? LONGEST.length : found;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}
