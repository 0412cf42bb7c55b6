import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS, secretData } from '#api/core.ts';
import { network } from '#lab/hosts/places.ts';
import { kubeconfigOf, readyNodesOf } from '#lab/meta/cluster.ts';
import { faults, seen } from '#lab/meta/faults.ts';
import type { Meta } from '#lab/meta/meta.ts';
import { byKubectl } from './by-kubectl.ts';
import { byNumber } from './by-number.ts';
import { membersOn } from './etcd-members.ts';
import { openLane } from './lanes.ts';
import { tracesOn } from './traces.ts';

/**
 * Settings that no other cluster of these tests has: five control planes, a password, an SSH port, and the user's own
 * balancer and pod network.
 */
const NAME = 'variant';
const PATH = `/region/lab/cluster/${NAME}`;
const OPERATION_MS = 12 * 60_000;
const SECRET = 'variant-password';
const PASSWORD = 'it\'s $HOME and "quotes"';
const PORT = 2222;
const GATEWAY = network.gateway;
const API_PORT = 6443;
const ALL = [0, 1, 2, 3, 4] as const;
const DROP_IN = '/etc/ssh/sshd_config.d/00-variant.conf';
const CONFLIST = '/etc/cni/net.d/10-somebodys.conflist';
const NETWORK = {
  cniVersion: '1.0.0',
  name: 'somebodys',
  plugins: [
    {
      type: 'bridge',
      bridge: 'own0',
      isGateway: true,
      ipMasq: true,
      ipam: {
        type: 'host-local',
        ranges: [[{ subnet: '10.244.0.0/24' }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
};

let meta: Meta;
let person: ReturnType<typeof byKubectl>;
let traces: (index: number) => Promise<string[]>;
const { host, entries, nodes, sh } = byNumber(() => meta);
const atPort = (...indices: number[]) => entries(...indices).map((entry) => ({ ...entry, port: PORT }));

/** Forwards each connection to the next API server that accepts it, as a user's balancer does. */
function balancerOf(addresses: () => readonly string[]) {
  let next = 0;
  const passOn = (client: Socket, left: number): void => {
    const all = addresses();
    next += 1;
    const server = connect({ host: all[next % all.length] ?? '', port: API_PORT, timeout: 1_000 });
    const away = () => {
      server.destroy();
      if (left > 1) passOn(client, left - 1);
      else client.destroy();
    };
    server.once('error', away).once('timeout', away);
    server.once('connect', () => {
      server.off('error', away).off('timeout', away).setTimeout(0);
      server.on('error', () => client.destroy()).on('close', () => client.destroy());
      client.on('error', () => server.destroy()).on('close', () => server.destroy());
      client.pipe(server).pipe(client);
    });
  };
  return createServer((client) =>
    passOn(
      client.on('error', () => {}),
      addresses().length,
    ),
  );
}
const balancer = balancerOf(() => ALL.map((index) => host(index).ip));

beforeAll(async () => {
  meta = await openLane();
  person = byKubectl(meta, NAME);
  balancer.listen(API_PORT, GATEWAY);
  await once(balancer, 'listening');
  for (const index of ALL)
    await sh(
      index,
      `set -e; cp -p /etc/shadow /root/kept-shadow; chpasswd <<< ${JSON.stringify(`root:${PASSWORD}`).replaceAll('$', '\\$')}
       printf 'Port ${PORT}\\nPasswordAuthentication yes\\nPubkeyAuthentication no\\nPermitRootLogin yes\\n' > ${DROP_IN}
       systemctl restart ssh`,
    );
  await sh(0, 'mkdir -p -m 700 /etc/cni/net.d');
  traces = await tracesOn(meta);
});
afterAll(async () => {
  balancer.close();
  for (const index of ALL)
    await sh(
      index,
      `rm -f ${DROP_IN} ${CONFLIST}; [ ! -e /root/kept-shadow ] || mv /root/kept-shadow /etc/shadow
       systemctl restart ssh`,
    );
  await meta.close();
});

const givePassword = (password: string) => {
  const data = secretData({ username: 'root', password });
  const secret = { metadata: { namespace: 'default', name: SECRET }, data };
  return meta.client.apply(SECRETS, secret, { fieldManager: 'e2e', force: true });
};

describe('a cluster of five control planes, with a password and a load balancer of the user', () => {
  const apply = (requestId: string) =>
    person.apply({
      masters: atPort(...ALL),
      word: 'creating',
      requestId,
      secret: SECRET,
      externalLoadBalancer: GATEWAY,
    });

  it('is not created with a wrong password, and the host is named', async () => {
    await givePassword('wrong');
    await apply('one');
    const failed = await person.untilStalled('OperationFailed', OPERATION_MS).catch(() => person.get());
    expect(`${failed?.status?.phase} ${failed?.status?.message}`).toMatch(
      new RegExp(`^Failed .*${host(0).ip}`, 's'),
    );
    expect(JSON.stringify(failed?.status)).not.toContain('wrong');
    expect(await traces(0)).toEqual([]);
  });

  it('is created with the right password', async () => {
    await givePassword(PASSWORD);
    await apply('two');
    await person.waitUpToDate(OPERATION_MS / 1000);
    expect(await readyNodesOf(meta, NAME)).toEqual(nodes(...ALL));
    expect(await membersOn(host(0))).toEqual(nodes(...ALL));
    expect(await kubeconfigOf(meta, NAME)).toContain(`server: https://${GATEWAY}:${API_PORT}`);
    const { body: logs } = await meta.rest.raw('GET', `${PATH}/logs`);
    expect(JSON.stringify(logs)).not.toContain('quotes');
  });

  it('answers while two control planes have no power, and recovers afterwards', async () => {
    await faults.powerOff(host(0));
    await faults.powerOff(host(3));
    try {
      await seen('an answer', async () => (await readyNodesOf(meta, NAME).catch(() => [])).length > 0);
    } finally {
      await faults.powerOn(host(0));
      await faults.powerOn(host(3));
    }
    const all = nodes(...ALL).join();
    // An API server that has just started does not know RBAC rules yet, and this balancer does not check readiness.
    const readyNodes = () => readyNodesOf(meta, NAME).catch(() => []);
    await seen('every node Ready', async () => (await readyNodes()).join() === all);
  });

  it('is deleted, and leaves no trace on its hosts', async () => {
    await person.run(['delete', 'ecs', NAME, '--wait=false']);
    await person.untilGone(OPERATION_MS);
    for (const index of ALL) expect(await traces(index), host(index).name).toEqual([]);
  });
});

describe('a cluster whose pod network the user installs', () => {
  const asks = 'kubectl --kubeconfig /etc/kubernetes/admin.conf --cache-dir /dev/shm/kube get pods -A';

  it('is created, and its nodes are Ready once the network is installed', async () => {
    await person.apply({ masters: atPort(0), word: 'creating', secret: SECRET, network: 'none' });
    await person.waitUpToDate();
    expect(await readyNodesOf(meta, NAME)).toEqual([]);
    expect(await sh(0, `${asks} -o name`)).not.toContain('flannel');
    await sh(0, `cat > ${CONFLIST} <<< '${JSON.stringify(NETWORK)}'`);
    await seen('a Ready node', async () => (await readyNodesOf(meta, NAME)).join() === nodes(0).join());
    const ips = () => sh(0, `${asks} -l k8s-app=kube-dns -o 'jsonpath={.items[*].status.podIP}'`);
    await seen('pods in that network', async () => /^10\.244\.0\.\d+ 10\.244\.0\.\d+$/.test(await ips()));
  });

  it('is deleted, and keeps the network of the user', async () => {
    await person.run(['delete', 'ecs', NAME, '--wait=false']);
    await person.untilGone(OPERATION_MS);
    expect(await sh(0, `cat ${CONFLIST}`)).toContain('somebodys');
    await sh(0, `rm ${CONFLIST}; ip link del own0 2>/dev/null || true`);
    expect(await traces(0)).toEqual([]);
  });
});
