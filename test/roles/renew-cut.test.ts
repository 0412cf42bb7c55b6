import { rm } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { RENEWED } from './renewed-files.fixture.ts';
import { repairRole } from './repair-role.fixture.ts';
import { watchedHost } from './watched-host.fixture.ts';

const host = watchedHost();
const { at, text, put, run } = host;
const { script } = repairRole(host);

const K8S = '/etc/kubernetes';
const PODS = ['kube-controller-manager', 'kube-scheduler'];
const manifestOf = (pod: string) => `${K8S}/manifests/${pod}.yaml`;
const LIBRARIES = [
  'control-plane/files/member.sh',
  'etcd/files/etcd.sh',
  'repair/files/pods.sh',
  'renew/files/kubelet.sh',
];
/** A container runtime in which a static pod runs as long as it has a manifest. */
const CTR = `for pod in ${PODS.join(' ')}; do
  [ -e "$MATRYOSHKA_ROOT${K8S}/manifests/$pod.yaml" ] || continue
  case "$*" in *'tasks ls') echo "$pod 7 RUNNING" ;; *"==$pod,"*) echo $pod ;; esac
done`;
const program = (name: string, body: string) => put(`/bin/${name}`, `#!/bin/bash\n${body}\n`, 0o755);

beforeEach(async () => {
  await run('begin');
  for (const pod of PODS) await put(manifestOf(pod), pod, 0o600);
  for (const authority of ['ca', 'front-proxy-ca', 'etcd/ca'])
    for (const part of ['crt', 'key']) await put(`${K8S}/pki/${authority}.${part}`, 'authority');
  for (const file of RENEWED) await put(`${K8S}/${file}`, 'former', 0o600);
  await put('/var/lib/matryoshka/.keep', '');
  await run('end');
  await program(
    'kubeadm',
    RENEWED.map((file) => `echo new > "$MATRYOSHKA_ROOT${K8S}/.renew.matryoshka/${file}"`).join('\n'),
  );
  await program('ctr', CTR);
  await program('openssl', ':');
  await program('curl', 'echo ok');
  await put('/usr/local/sbin/matryoshka-fence', '#!/bin/bash\nshift 2; exec "$@"\n', 0o755);
});

async function renew(): Promise<string> {
  await run('begin');
  const said = await script(
    'renew/files/renew.sh',
    { ETCD_HERE: '', NODE_NAME: 'n1', IP: '10.0.0.1', KUBEADM_CONFIG: 'x' },
    LIBRARIES,
  );
  await run('end');
  return said;
}

describe('a renewal of a control plane', () => {
  it('replaces its files and restarts what read them, without drift', async () => {
    const said = await renew();
    for (const pod of PODS) expect(said).toContain(`changed: ${pod} restarted`);
    for (const file of RENEWED) expect(await text(`${K8S}/${file}`)).toBe('new\n');
    expect(await run('differences')).toBe('');
    expect(await text('/var/lib/matryoshka/repair')).toBe('');
  });

  it('restores the manifests that an interrupted one left aside', async () => {
    for (const pod of PODS) {
      await put(`${K8S}/.${pod}.matryoshka`, pod, 0o600);
      await rm(at(manifestOf(pod)));
    }
    await put('/var/lib/matryoshka/repair', PODS.map((pod) => `pod ${pod}\n`).join(''));
    const said = await renew();
    for (const pod of PODS) {
      expect(said).toContain(`changed: ${pod} restarted`);
      expect(await text(manifestOf(pod))).toBe(pod);
    }
    expect(await run('differences')).toBe('');
  });

  it('fails if no copy of such a manifest is kept', async () => {
    await rm(at(manifestOf('kube-scheduler')));
    await rm(at('/etc/matryoshka/kept'), { recursive: true });
    await put('/var/lib/matryoshka/repair', 'pod kube-scheduler\n');
    const said = await script(
      'renew/files/renew.sh',
      { NODE_NAME: 'n1', IP: '10.0.0.1', KUBEADM_CONFIG: 'x' },
      LIBRARIES,
    );
    expect(said).toContain(`${manifestOf('kube-scheduler')} is missing, and there is no copy of it`);
    expect(await text(`${K8S}/admin.conf`)).toBe('former');
  });

  it('leaves a file that its authority did not sign', async () => {
    await program('openssl', '[ "$1" != verify ]');
    const said = await renew();
    expect(said).toMatch(/ca\.key is not the key of .*nothing was changed on this host/);
    for (const file of RENEWED) expect(await text(`${K8S}/${file}`)).toBe('former');
  });
});
