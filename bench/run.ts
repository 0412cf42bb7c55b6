/** A measured creation: its duration and its milestones. */
export interface Run {
  readonly seconds: number;
  /** Milestones in order, each with the seconds since the start. */
  readonly milestones: readonly Milestone[];
}

export interface Milestone {
  readonly what: string;
  readonly at: number;
}
