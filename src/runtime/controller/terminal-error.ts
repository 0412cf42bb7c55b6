/**
 * Thrown by a reconcile if another attempt cannot help: it is counted and logged, and not retried until the object changes.
 * Source: controller-runtime reconcile.TerminalError.
 */
export class TerminalError extends Error {
  override name = 'TerminalError';
}
