import { PassThrough } from 'node:stream';
import { z } from 'zod';
import { isMaster } from '#api/cluster-host.ts';
import { inUrl } from '#api/host.ts';
import { messageOf } from '#base/errors.ts';
import type { PlannedHost } from '#protocol/run-spec.ts';
import { etcdSnapshot, SNAPSHOT_PATH } from '#snapshots/etcd-stream.ts';
import type { LiveEtcd } from '#snapshots/save.ts';
import { HASH_PATH, hashFrom } from '#snapshots/scratch-etcd.ts';
import type { SshConnection } from '#ssh/connection.ts';

type Connections = ReadonlyMap<string, Pick<SshConnection, 'run'>>;

const ASK_SECONDS = 30;
/** Limit of a whole snapshot, for the largest database that etcd recommends, 8 GiB, over a slow connection. */
const STREAM_SECONDS = 3600;
/**
 * Returns the rate of the stream in bytes of base64 per second. Without a limit, requests would wait for etcd and its disk. A
 * small database takes seconds, a large one two minutes. API servers compact every five minutes, and etcd can compare only
 * revisions that it still has.
 */
function rateFor(bytes: number): number {
  const [least, most] = [8 * MIB, 32 * MIB];
  if (bytes <= SMALL_BYTES) return most;
  return Math.min(most, Math.max(least, Math.ceil((bytes * 4) / 3 / LARGE_SECONDS)));
}
const MIB = 1024 * 1024;
const SMALL_BYTES = 256 * MIB;
const LARGE_SECONDS = 120;
const MAX_SAID = 300;

const statusSchema = z.object({
  header: z.object({ member_id: z.string() }),
  /** Absent or 0: the member has lost its peers, and its data may be old. */
  leader: z.string().default('0'),
  isLearner: z.boolean().default(false),
  /** Bytes of the database file. */
  dbSize: z.coerce.number().default(0),
  /** Among them alarms: `memberID:<number> alarm:CORRUPT`. */
  errors: z.array(z.string()).default([]),
});
const rangeSchema = z.object({ header: z.object({ revision: z.string() }) });
const STATUS_PATH = '/v3/maintenance/status';
const RANGE_PATH = '/v3/kv/range';
/** Base64 of a zero byte: no key of Kubernetes. */
const NO_KEY = 'AA==';
/** etcd's answer for a revision that it no longer has (etcd, rpctypes.ErrGRPCCompacted). */
const COMPACTED = /required revision has been compacted/;

/** Returns the command that asks the JSON gateway of the member on a host. Keys stay on the host. */
const gateway = (ip: string, path: string, body: string, seconds: number, more = ''): string =>
  'for d in /etc/matryoshka/etcd /etc/kubernetes/pki/etcd; do [ ! -s $d/server.key ] || break; done; ' +
  `exec nice -n 19 curl -sS --noproxy '*' ${more} --max-time ${seconds} --cacert $d/ca.crt --cert $d/server.crt --key $d/server.key ` +
  `-H 'Content-Type: application/json' -d '${body}' 'https://${inUrl(ip)}:2379${path}'`;

/**
 * Packs what the control planes of a cluster share, as `admit.sh` does for one that joins: the authorities, the key of
 * ServiceAccounts, the key of encryption at rest.
 */
const AUTHORITIES =
  'cd /etc/kubernetes/pki && more=; for f in matryoshka apiserver-etcd-client.crt apiserver-etcd-client.key; do ' +
  '[ ! -e $f ] || more="$more $f"; done; ' +
  'tar --exclude="matryoshka/next*" -czf - ca.crt ca.key front-proxy-ca.crt front-proxy-ca.key etcd/ca.crt etcd/ca.key sa.key sa.pub $more | base64 -w 0';

/** Returns the etcd of a cluster over its hosts, by the first member that answers, and better not by the leader. */
export async function liveEtcd(hosts: readonly PlannedHost[], connections: Connections): Promise<LiveEtcd> {
  const reached = hosts.flatMap(({ member: { ip, duties } }) => {
    const connection = connections.get(ip);
    return connection && duties.includes('etcd') ? [{ ip, connection }] : [];
  });
  type Member = (typeof reached)[number];
  const ask = async ({ ip, connection }: Member, path: string, body: object): Promise<string> => {
    const { code, stdout, stderr } = await connection
      .run(gateway(ip, path, JSON.stringify(body), ASK_SECONDS), { timeoutMs: (ASK_SECONDS + 5) * 1000 })
      .catch((error: unknown) => ({ code: 1, stdout: '', stderr: messageOf(error) }));
    if (code !== 0) throw new Error(`${ip}: ${(stderr || stdout).trim().slice(0, MAX_SAID)}`);
    return stdout;
  };
  let chosen: Member | undefined;
  let rate = rateFor(0);
  const said: string[] = [];
  for (const one of reached) {
    try {
      const { leader, header, dbSize } = fitStatus(await ask(one, STATUS_PATH, {}));
      // A linearizable read makes the member catch up with all that was confirmed to clients.
      const read = await ask(one, RANGE_PATH, { key: NO_KEY });
      if (!rangeSchema.safeParse(JSON.parse(read)).success) throw new Error(read.slice(0, MAX_SAID));
      chosen = one;
      rate = rateFor(dbSize);
      if (leader !== header.member_id) break;
    } catch (error) {
      const reason = messageOf(error);
      said.push(reason.startsWith(one.ip) ? reason : `${one.ip}: ${reason}`);
    }
  }
  if (!chosen)
    throw new Error(`no member of etcd answers: ${said.join('; ') || 'no host with a member is reached'}`);
  const { ip, connection } = chosen;
  const masters = hosts
    .filter(({ member }) => isMaster(member))
    .map(({ member }) => connections.get(member.ip));
  return {
    async snapshot(signal) {
      const output = new PassThrough();
      const stop = () => output.destroy(new Error('the run ends'));
      signal.addEventListener('abort', stop, { once: true });
      void connection
        .run(gateway(ip, SNAPSHOT_PATH, '{}', STREAM_SECONDS, `--limit-rate ${rate}`), {
          output,
          timeoutMs: (STREAM_SECONDS + 30) * 1000,
        })
        .then(
          ({ code, stderr }) =>
            code === 0
              ? output.end()
              : output.destroy(
                  new Error(`${ip}: curl ends with code ${code}: ${stderr.trim().slice(0, MAX_SAID)}`),
                ),
          (error: unknown) => output.destroy(new Error(messageOf(error))),
        )
        .finally(() => signal.removeEventListener('abort', stop));
      return etcdSnapshot(linesOf(output));
    },
    async hashAt(revision) {
      const others = reached.filter((one) => one !== chosen);
      const failed: string[] = [];
      for (const one of [chosen, ...others]) {
        try {
          const answer = await ask(one, HASH_PATH, { revision });
          return COMPACTED.test(answer) ? undefined : hashFrom(answer);
        } catch (error) {
          failed.push(messageOf(error));
        }
      }
      throw new Error(`no member of etcd gives the hash of revision ${revision}: ${failed.join('; ')}`);
    },
    async authorities() {
      const master = masters.find((one) => one !== undefined);
      if (!master) throw new Error('no control plane is reached, so the keys of the cluster cannot be saved');
      const { code, stdout, stderr } = await master.run(AUTHORITIES, { timeoutMs: ASK_SECONDS * 1000 });
      if (code !== 0 || stdout === '')
        throw new Error(`the keys of the cluster cannot be read: ${stderr.trim()}`);
      return Buffer.from(stdout, 'base64');
    },
  };
}

/** Returns the status of a member from which a snapshot may be read. */
function fitStatus(text: string): z.infer<typeof statusSchema> {
  const status = statusSchema.parse(JSON.parse(text));
  const { leader, isLearner, header, errors } = status;
  if (leader === '0' || isLearner) throw new Error('the member has no leader, or is a learner');
  if (errors.some((error) => error.includes(`memberID:${header.member_id} alarm:CORRUPT`)))
    throw new Error("the member's data is corrupt, as etcd says");
  return status;
}

const NEWLINE = 10;

/** Returns the lines of a stream, at the pace of their reader. Rejects if the stream does. */
async function* linesOf(input: AsyncIterable<Buffer>): AsyncGenerator<string> {
  // Parts stay buffers until their line is whole, and the stream waits for its reader: each line has some 40 KiB, and
  // `node:readline` would keep thousands.
  let begun: Buffer[] = [];
  const line = (end: Buffer) => Buffer.concat([...begun, end]).toString();
  for await (const chunk of input) {
    let from = 0;
    for (let to = chunk.indexOf(NEWLINE); to >= 0; to = chunk.indexOf(NEWLINE, from)) {
      yield line(chunk.subarray(from, to));
      begun = [];
      from = to + 1;
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
  }
  if (begun.length > 0) yield line(Buffer.alloc(0));
}
