import { execa } from 'execa';

/** Most calls of the Docker client answer in milliseconds; one that has not after this long never will. */
const CALL_TIMEOUT_MS = 60_000;

/** Runs the Docker client and answers its standard output. Throws with its message otherwise. */
export async function docker(args: readonly string[], timeoutMs = CALL_TIMEOUT_MS): Promise<string> {
  const { stdout } = await execa('docker', [...args], { stdin: 'ignore', timeout: timeoutMs });
  return stdout;
}

/** Like `docker`, for questions whose answer may be no: undefined when the client fails. */
export async function dockerOrUndefined(
  args: readonly string[],
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<string | undefined> {
  const result = await execa('docker', [...args], { stdin: 'ignore', timeout: timeoutMs, reject: false });
  return result.failed ? undefined : result.stdout;
}
