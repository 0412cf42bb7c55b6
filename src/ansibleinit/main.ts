/**
 * Runs as process 1 of a Job. It carries out a run spec: it checks the hosts, runs the playbook, sends the log to the
 * server, and reports the result. It also runs hooks, which are playbooks of users.
 */

import { systemClock } from '#base/clock.ts';
import { messageOf } from '#base/errors.ts';
import { EXIT } from '#protocol/exit.ts';
import { HOOK_ARGUMENT } from '#protocol/hook.ts';
import { otlpTracer } from '#tracing/otlp.ts';
import { deliver, leaveVerdict } from './delivery.ts';
import { type HookSettings, readHookSettings, runHook } from './hook.ts';
import { reapOrphans } from './reap.ts';
import { carryOut } from './run.ts';
import { readSettings, type Settings } from './settings.ts';
import { traced } from './traced.ts';
import { printing, streaming } from './uplink.ts';

/** Exit codes: 128 + signal. */
const SIGNALS = { SIGTERM: 143, SIGINT: 130, SIGHUP: 129 } as const;
const CLOSE_LOG_MS = 10_000;
const TERMINATION_LOG = '/dev/termination-log';

const print = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  // Process 1 has no default action for a signal, so each must be handled here.
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

/** Runs an attempt of an operation, with log and report to the server. */
async function attempt(signal: AbortSignal, interrupted: () => number | undefined): Promise<number> {
  let settings: Settings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    return misconfigured(error);
  }
  const plain =
    settings.SERVER_URL === undefined
      ? printing(print)
      : streaming(settings, settings.runSpec.run.job, print);
  const { OTLP_ENDPOINT: endpoint, runSpec } = settings;
  const uplink =
    endpoint === undefined
      ? plain
      : traced(
          plain,
          runSpec,
          otlpTracer({ endpoint, service: 'matryoshka-runner', clock: systemClock, warn: print }),
        );
  try {
    const report = await carryOut(settings, uplink, signal);
    await uplink.close(CLOSE_LOG_MS);
    const delivered = await deliver(settings, report);
    // The result comes last, so a run that dies before its report is delivered counts as lost, not as finished.
    leaveVerdict(settings.TERMINATION_LOG, report);
    if (!delivered) print('the report could not be delivered');
    return report.success ? (delivered ? EXIT.done : EXIT.undelivered) : EXIT.failed;
  } catch (error) {
    print(messageOf(error));
    await uplink.close(1_000);
    // An interrupted run must not count as finished, so it writes no result.
    return interrupted() ?? EXIT.failed;
  }
}

/** Runs a user's playbook, which has no server: only its last lines and its exit code are reported. */
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
