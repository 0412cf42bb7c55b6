export type SshFailure =
  | 'Unreachable'
  | 'HostKeyChanged'
  | 'PinsUnreadable'
  | 'AuthenticationFailed'
  | 'SudoRefused'
  | 'AnswerIncomplete'
  | 'KeyInvalid';

/** A connection that failed, typed by what a person should do about it. */
export class SshError extends Error {
  override name = 'SshError';
  readonly reason: SshFailure;

  constructor(reason: SshFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}
