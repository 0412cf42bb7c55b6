/** Returns the message about a Secret that has the operator's name and another owner. */
export const secretIsForeign = (name: string): string =>
  `Secret "${name}" was not made by the operator; copy it to another name if it is needed, delete it, and ask again where the operation failed`;

/** An error that only a user's change can fix: it ends the operation instead of being retried. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** An error that ends by itself: the effect is tried again, and the operation shows the message meanwhile. */
export class Undecided extends Error {
  override name = 'Undecided';
}
