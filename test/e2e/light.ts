/**
 * Files whose clusters have one control plane, but for the smoke (life-by-rest): they wait for most of their time, and run
 * one after the other beside the others, which keep the processors busy. Three of those at once take as long as two, and
 * wait for each other in what they measure.
 */
const LIGHT: readonly string[] = [
  'cancel',
  'changes',
  'drift',
  'dual-stack',
  'hooks',
  'hosts',
  'ingress',
  'kstatus',
  'life-by-annotation',
  'life-by-rest',
  'local-service',
  'lost-objects',
  'meanwhile',
  'network',
  'policies',
  'refusals',
  'sudo',
];

/** The light files, from the root of the project. */
export const LIGHT_FILES: readonly string[] = LIGHT.map((name) => `test/e2e/${name}.test.ts`);
