export type SshFailure =
  | 'Unreachable'
  | 'HostKeyChanged'
  | 'PinsUnreadable'
  | 'AuthenticationFailed'
  | 'SudoRefused'
  | 'AnswerIncomplete'
  | 'KeyInvalid';

/** Failed connection, typed by the user's remediation. */
export class SshError extends Error {
  override name = 'SshError';
  readonly reason: SshFailure;

  constructor(reason: SshFailure, message: string) {
    super(message);
    this.reason = reason;
  }
}
