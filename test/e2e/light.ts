/**
 * Files whose clusters have one control plane, but for the smoke (life-by-rest): they wait for most of their time, and run one after the other beside the
 * others, which keep the processors busy. Three of those at once take as long as two, and wait for each other in what
 * they measure.
 */
const LIGHT: Readonly<Record<string, readonly string[]>> = {
  '': [
    'cancel',
    'changes',
    'drift',
    'hooks',
    'hosts',
    'kstatus',
    'life-by-annotation',
    'life-by-rest',
    'lost-objects',
    'meanwhile',
    'refusals',
    'sudo',
  ],
  'unattended/': ['dual-stack', 'ingress', 'local-service', 'network', 'policies', 'workspace'],
};

/** The light files of a folder of `test/e2e`, from the root of the project. */
export const lightIn = (folder: '' | 'unattended/'): string[] =>
  (LIGHT[folder] ?? []).map((name) => `test/e2e/${folder}${name}.test.ts`);
