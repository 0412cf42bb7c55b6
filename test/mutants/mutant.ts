/** The check that must fail: a test of a vitest project by a part of its name, or a fault plan. */
export type Witness =
  | { project: 'unit' | 'api'; file: string; test: string }
  /** Text of a plan, as `make faults PLAN=…` accepts it. */
  | { plan: string };

/** A break of the product that a test must detect. */
export interface Mutant {
  name: string;
  /** Path from the root of the repository. */
  file: string;
  /** Text to replace; the file has it exactly once. */
  from: string;
  to: string;
  witness: Witness;
}

/** Counts `from` in the text of the mutant's file; the mutant is valid only if the count is one. */
export const occurrences = (text: string, { from }: Mutant): number => text.split(from).length - 1;

export const mutated = (text: string, { from, to }: Mutant): string => text.split(from).join(to);

export const nameOf = (witness: Witness): string =>
  'plan' in witness ? `plan ${witness.plan}` : `${witness.file} "${witness.test}"`;
