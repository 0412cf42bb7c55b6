import type { Plan, Step } from './plan.ts';

/** The lists of steps whose single faults are all tried. */
export const LIVES: readonly (readonly Step[])[] = [
  ['create', 'delete'],
  ['create', 'up', 'down', 'delete'],
  ['refused', 'create', 'delete'],
  ['refused', 'swapped', 'delete'],
  ['cancelled', 'create', 'delete'],
  ['create', 'mistyped', 'corrected', 'down', 'delete'],
  ['create', 'relabel', 'delete'],
  ['create', 'replace', 'delete'],
  ['create', 'move', 'delete'],
  ['create', 'repair', 'delete'],
  ['create', 'renew', 'delete'],
  ['create', 'rotate', 'delete'],
  ['create', 'update', 'delete'],
  ['create', 'settings', 'delete'],
  // Only an upgrade that has not finished can be undone.
  ['create', 'halted', 'undo', 'delete'],
  ['create', 'save', 'delete'],
  // The first snapshot makes the Secret that the restore needs.
  ['create', 'save', 'restore', 'delete'],
];
/** Steps of a life that no earlier life covers, by the first of these names that the life has. A creation after a failed one differs from that of a new object. */
const SHOWN: Readonly<Record<string, readonly Step[]>> = {
  up: ['up', 'down'],
  swapped: ['swapped'],
  refused: ['refused', 'create'],
  cancelled: ['cancelled'],
  mistyped: ['mistyped', 'corrected'],
  relabel: ['relabel'],
  replace: ['replace'],
  move: ['move'],
  repair: ['repair'],
  renew: ['renew'],
  rotate: ['rotate'],
  update: ['update'],
  settings: ['settings'],
  undo: ['halted', 'undo'],
  restore: ['restore'],
  save: ['save'],
};
/** Whether the faults of a plan are at steps that no earlier life has covered. */
export const isNew = (steps: readonly Step[], { faults }: Plan): boolean => {
  const [, shown] = Object.entries(SHOWN).find(([label]) => steps.some((step) => step === label)) ?? [];
  return faults.every(({ step }) => shown?.includes(step) ?? true);
};
