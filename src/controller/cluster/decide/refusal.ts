/** What a person is told about a Secret of a name of ours that is not ours. */
export const secretIsForeign = (name: string): string =>
  `Secret "${name}" was not made by the operator; delete it or rename it, then ask again`;

/** An effect that cannot be done until a person changes something: it ends the operation instead of being retried. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
