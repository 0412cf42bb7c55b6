/** A hook: a user's own playbook, which a separate Job runs before or after an operation's run (spec.hooks). */

/** Label value of a hook's Job. */
export const HOOK = 'hook';

/** First argument of ansibleinit for a hook. */
export const HOOK_ARGUMENT = 'hook';

/** The file with the playbook's text in the Job's Secret. */
export const HOOK_FILE = 'playbook.yml';

/** Reason of a hook whose playbook failed. */
export const HOOK_FAILED = 'HookFailed';
