/**
 * What runs beside what. Light files are those whose clusters have one control plane, but for the smoke (life-by-rest): they
 * wait for most of their time, and run one after the other beside the others, which keep the processors busy. Three of those
 * at once take as long as two, and wait for each other in what they measure. `lost-objects` is as light, and with the others,
 * so that all lanes end together: after the light ones come those of `disturbing`, and the light ones that are unattended.
 */
const LIGHT = [
  'cancel',
  'changes',
  'drift',
  'dual-stack',
  'hooks',
  'hosts',
  'kstatus',
  'life-by-annotation',
  'life-by-rest',
  'local-service',
  'meanwhile',
  'refusals',
  'sudo',
];
/** They do not care who leads, or since when, and run beside the one that kills the operator again and again, as long as it does. */
const UNATTENDED = ['settings', 'variants'];
const UNATTENDED_LIGHT = ['ingress', 'network', 'policies'];

const paths = (names: readonly string[]): string[] => names.map((name) => `test/e2e/${name}.test.ts`);

/** Files of each row, from the root of the project; a new one is of the first. */
export const ROWS = {
  attended: {
    include: ['test/e2e/*.test.ts'],
    exclude: paths([...LIGHT, ...UNATTENDED, ...UNATTENDED_LIGHT]),
  },
  attendedLight: { include: paths(LIGHT) },
  unattended: { include: ['test/e2e/unattended/*.test.ts', ...paths(UNATTENDED)] },
  unattendedLight: { include: paths(UNATTENDED_LIGHT) },
  disturbing: { include: ['test/e2e/disturbing/*.test.ts'] },
};
