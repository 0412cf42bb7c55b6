/** Exit codes of ansibleinit: what may be concluded from each (sysexits.h; 128 + signal for a run that was ended). */
export const EXIT = {
  /** Done, and the report was taken. */
  done: 0,
  /** Failed, and said why. */
  failed: 1,
  /** The environment or the run spec cannot be used (EX_USAGE). */
  usage: 64,
  /** Done, but nobody took the report (EX_TEMPFAIL). */
  undelivered: 75,
} as const;
