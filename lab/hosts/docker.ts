import { execa } from 'execa';

/** Most calls of the Docker client take milliseconds. A call that exceeds this hangs. */
const CALL_TIMEOUT_MS = 60_000;

/** Runs the Docker client and returns its standard output. Throws with its message if it fails. */
export async function docker(args: readonly string[], timeoutMs = CALL_TIMEOUT_MS): Promise<string> {
  const { stdout } = await execa('docker', [...args], { stdin: 'ignore', timeout: timeoutMs });
  return stdout;
}

/** Runs `docker`, and returns undefined if the client fails, for questions with a possible no. */
export async function dockerOrUndefined(
  args: readonly string[],
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<string | undefined> {
  const result = await execa('docker', [...args], { stdin: 'ignore', timeout: timeoutMs, reject: false });
  return result.failed ? undefined : result.stdout;
}
