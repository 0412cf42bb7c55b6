import { messageOf } from '#base/errors.ts';
import { EXIT } from '#protocol/exit.ts';
import { HOOK_ARGUMENT } from '#protocol/hook.ts';
import { deliver, leaveVerdict } from './delivery.ts';
import { type HookSettings, readHookSettings, runHook } from './hook.ts';
import { reapOrphans } from './reap.ts';
import { carryOut } from './run.ts';
import { readSettings, type Settings } from './settings.ts';
import { printing, streaming } from './uplink.ts';

/** 128 + signal. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;
const CLOSE_LOG_MS = 10_000;
const TERMINATION_LOG = '/dev/termination-log';

const print = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  // Process 1 gets no default action for a signal: each is handled here or lost.
  const stop = new AbortController();
  let interrupted: number | undefined;
  for (const [name, code] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      interrupted ??= code;
      stop.abort(new Error(`ended by ${name}`));
    });
  }
  if (process.pid === 1) reapOrphans();
  const ended = () => interrupted;
  return process.argv[2] === HOOK_ARGUMENT ? hook(stop.signal, ended) : attempt(stop.signal, ended);
}

function misconfigured(error: unknown): number {
  const message = `the environment of this run is not usable: ${messageOf(error)}`;
  print(message);
  leaveVerdict(TERMINATION_LOG, { success: false, reason: 'Misconfigured', message, hosts: [] });
  return EXIT.usage;
}

/** A run of ours: it is logged and reported to the server. */
async function attempt(signal: AbortSignal, interrupted: () => number | undefined): Promise<number> {
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    return misconfigured(error);
  }
  const uplink =
    settings.SERVER_URL === undefined
      ? printing(print)
      : streaming(settings, settings.runSpec.run.job, print);
  try {
    const report = await carryOut(settings, uplink, signal);
    await uplink.close(CLOSE_LOG_MS);
    const delivered = await deliver(settings, report);
    // Last, so that a run that dies before its report is told is lost, not judged.
    leaveVerdict(settings.TERMINATION_LOG, report);
    if (!delivered) print('the report could not be delivered');
    return report.success ? (delivered ? EXIT.done : EXIT.undelivered) : EXIT.failed;
  } catch (error) {
    print(messageOf(error));
    await uplink.close(1_000);
    // No verdict: whoever comes next must not take an interrupted run for a judged one.
    return interrupted() ?? EXIT.failed;
  }
}

/** A playbook of a user's own: it knows no server, and its last words and its exit code are all that is told of it. */
async function hook(signal: AbortSignal, interrupted: () => number | undefined): Promise<number> {
  let settings: HookSettings;
  try {
    settings = readHookSettings(process.env);
  } catch (error) {
    return misconfigured(error);
  }
  try {
    const report = await runHook(settings, print, signal);
    leaveVerdict(TERMINATION_LOG, report);
    return report.success ? EXIT.done : EXIT.failed;
  } catch (error) {
    print(messageOf(error));
    return interrupted() ?? EXIT.failed;
  }
}

process.exitCode = await main();
process.exit();
