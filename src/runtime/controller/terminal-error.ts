/**
 * Thrown by a reconcile that knows that trying again cannot help: counted and logged, not retried until the
 * object changes. Source: controller-runtime reconcile.TerminalError.
 */
export class TerminalError extends Error {
  override name = 'TerminalError';
}
