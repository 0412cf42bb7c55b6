/** A hook: a playbook of a user's own, which a Job of its own runs before or after an operation's run (spec.hooks). */

/** Label value of a hook's Job. */
export const HOOK = 'hook';

/** First argument of ansibleinit where it runs a hook. */
export const HOOK_ARGUMENT = 'hook';

/** The file of the Job's Secret that holds the text of the playbook. */
export const HOOK_FILE = 'playbook.yml';

/** Reason of a hook whose playbook failed. */
export const HOOK_FAILED = 'HookFailed';
