/** Exit codes of ansibleinit (sysexits.h; 128 + signal for a run that a signal ended). */
export const EXIT = {
  /** The run succeeded, and the server accepted the report. */
  done: 0,
  /** The run failed, and reported why. */
  failed: 1,
  /** The environment or the run spec cannot be used (EX_USAGE). */
  usage: 64,
  /** The run succeeded, but the server did not accept the report (EX_TEMPFAIL). */
  undelivered: 75,
} as const;
