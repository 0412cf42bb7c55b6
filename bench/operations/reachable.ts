import { execa } from 'execa';
import { nodeNameOf } from '#api/host.ts';
import { sleep } from '#base/clock.ts';
import type { Say } from '#lab/artifacts/progress.ts';
import type { LabHost } from '#lab/hosts/places.ts';
import { faults } from './faults.ts';
import { readySince } from './ready-since.ts';

/** Time before a fault, and from its start to its end: well under the 40 s after which a node counts as NotReady. */
const BEFORE_MS = 1_500;
const FAULT_MS = 12_000;
const MENDED_MS = 3 * 60_000;

/**
 * Requests the API by the cluster's endpoint name, with a new connection each time; prints a line `SECONDS ok|no` for each
 * request.
 */
const ASKING = `name=$(awk '/# matryoshka/ { print $2; exit }' /etc/hosts)
while :; do
  curl -sk -m 1 "https://$name:6443/readyz" | grep -qx ok && said=ok || said=no
  echo "$EPOCHREALTIME $said"; sleep 0.05
done`;

/** A time without a response. */
interface Silence {
  readonly seconds: number;
  /** Seconds since 1970. */
  readonly since: number;
}

/** Returns the longest time without a response in lines of `ASKING`. */
function longestSilence(lines: readonly string[]): Silence {
  const answered = lines.filter((line) => line.endsWith(' ok')).map((line) => Number(line.split(' ')[0]));
  const last = Number(lines.at(-1)?.split(' ')[0] ?? Number.NaN);
  return answered
    .map((since, index) => ({ since, seconds: (answered[index + 1] ?? last) - since }))
    .reduce((most, one) => (one.seconds > most.seconds ? one : most), {
      since: Number.NaN,
      seconds: answered.length === 0 ? Number.POSITIVE_INFINITY : 0,
    });
}

async function readyAt(master: LabHost): Promise<boolean> {
  const ask = ['curl', '-sk', '-m', '1', `https://${master.ip}:6443/readyz`];
  const { stdout } = await execa('docker', ['exec', master.name, ...ask], { reject: false, timeout: 10_000 });
  return stdout === 'ok';
}

async function untilWhole(masters: readonly LabHost[]): Promise<void> {
  const until = performance.now() + MENDED_MS;
  while (!(await Promise.all(masters.map(readyAt))).every((ready) => ready)) {
    if (performance.now() > until) throw new Error('a control plane does not come back');
    await sleep(500);
  }
  // Balancers use an API server again after two responses, and etcd's members need to reconnect.
  await sleep(5_000);
}

export interface Gap {
  readonly fault: string;
  readonly seconds: number;
  /** Nodes of other hosts that were NotReady during the fault. */
  readonly notReady: readonly string[];
}

/**
 * Sends requests on a host until the returned function ends it, which returns the longest time without a response.
 */
export function ask(host: LabHost): () => Promise<Silence> {
  const asking = execa('docker', ['exec', host.name, 'bash', '-c', ASKING], { reject: false, buffer: true });
  return async () => {
    asking.kill();
    const { stdout } = await asking;
    await execa('docker', ['exec', host.name, 'pkill', '-f', 'curl -sk|EPOCHREALTIME'], { reject: false });
    return longestSilence(stdout.split('\n').slice(0, -1));
  };
}

/** Measures how long any other host reaches no API server, while control planes are lost in turn. */
export async function gaps(
  masters: readonly LabHost[],
  workers: readonly LabHost[],
  times: number,
  say: Say,
): Promise<Gap[]> {
  const found: Gap[] = [];
  for (let time = 0; time < times; time += 1) {
    const fault = faults[time % faults.length];
    const master = masters[Math.floor(time / faults.length) % masters.length];
    const others = [...masters, ...workers].filter((host) => host !== master);
    const [witness] = others;
    if (!fault || !master || !witness) throw new Error('no fault, or no control plane');
    await untilWhole(masters);
    const before = await readySince(witness.name);
    const asking = others.map(ask);
    await sleep(BEFORE_MS);
    await fault.begin(master.name);
    await sleep(FAULT_MS);
    const each = (await Promise.all(asking.map((end) => end()))).map(({ seconds }) => seconds);
    await fault.end(master.name);
    await untilWhole(masters);
    const after = await readySince(witness.name);
    const notReady = [...before.keys()].filter(
      (node) => node !== nodeNameOf({ ip: master.ip }) && before.get(node) !== after.get(node),
    );
    const seconds = Math.max(...each);
    const every = others.map(({ name }, at) => `${name} ${each[at]?.toFixed(2)}`).join(', ');
    say(`${time + 1} of ${times}: ${master.name} ${fault.name}: ${seconds.toFixed(2)} s (${every})`);
    found.push({ fault: fault.name, seconds, notReady });
  }
  return found;
}
