/** One measured creation: how long, and how far it was when. */
export interface Run {
  readonly seconds: number;
  /** What was reached, in order, and how many seconds after the start. */
  readonly milestones: readonly Milestone[];
}

export interface Milestone {
  readonly what: string;
  readonly at: number;
}
