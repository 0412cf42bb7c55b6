/** Returns the status that the kubelet writes for a pod of an attempt whose container has ended. */
export function statusOfEnded(exitCode: number, message: string) {
  const now = new Date().toISOString();
  const reason = exitCode === 0 ? 'Completed' : 'Error';
  const terminated = { exitCode, message, reason, startedAt: now, finishedAt: now };
  const container = { name: 'ansibleinit', image: 'runner', imageID: '', ready: false, restartCount: 0 };
  return {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containerStatuses: [{ ...container, state: { terminated } }],
  };
}
