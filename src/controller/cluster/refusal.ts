/** An effect that cannot be done until a person changes something: it ends the operation instead of being retried. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
