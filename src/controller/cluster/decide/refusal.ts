/** What a person is told about a Secret of a name of ours that is not ours. */
export const secretIsForeign = (name: string): string =>
  `Secret "${name}" was not made by the operator; copy it to another name if it is needed, delete it, and ask again where the operation failed`;

/** An effect that cannot be done until a person changes something: it ends the operation instead of being retried. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
