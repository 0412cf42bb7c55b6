/** What must turn red: a test of a vitest project by a part of its name, or a fault plan. */
export type Witness =
  | { project: 'unit' | 'api'; file: string; test: string }
  /** Text of a plan, as `make faults PLAN=…` takes it. */
  | { plan: string };

/** A breakage of the product that no test may let pass. */
export interface Mutant {
  name: string;
  /** From the root of the repository. */
  file: string;
  /** Stands there once. */
  from: string;
  to: string;
  witness: Witness;
}

/** How often `from` stands in the text of the mutant's file; anything but once, and the mutant says nothing. */
export const occurrences = (text: string, { from }: Mutant): number => text.split(from).length - 1;

export const mutated = (text: string, { from, to }: Mutant): string => text.split(from).join(to);

export const nameOf = (witness: Witness): string =>
  'plan' in witness ? `plan ${witness.plan}` : `${witness.file} "${witness.test}"`;
