import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { RENEWED } from './renewed-files.fixture.ts';
import { read } from './small-host.fixture.ts';

/** Every script that writes on a host, with the settings that let it finish on a small host. */
export interface Row {
  /** Variables, as shell code. */
  vars?: string;
  library?: readonly string[];
  before?: string;
  programs?: Readonly<Record<string, string>>;
  /** Paths whose content differs in each run. */
  varies?: RegExp;
  /** Paths that kubeadm writes itself, and rewrites in the next run. */
  others?: RegExp;
  /** Refuses a second run after it has succeeded. */
  once?: true;
  /** Text to run instead of a role's script. */
  text?: string;
  command?: string;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const sumOf = (path: string) => `$(printf 'what is at http://a/${path}' | sha256sum | cut -d' ' -f1)`;
const ARCHIVE_SUM = `$(base64 -d < /usr/local/archive | sha256sum | cut -d' ' -f1)`;
const file = (name: string, path: string) => `${name}_PATH=${path} ${name}_SHA256=${sumOf(path)}\n`;
const base64 = (text: string) => Buffer.from(text).toString('base64');

const watch = await read('files/watch');
const fence = await read('files/fence');
const prelude = await read('files/prelude.sh');
const bridges = (name: string) =>
  readFile(join(import.meta.dirname, '../../src/addons/network/bridges/host', name), 'utf8');

const JOINED =
  'mkdir -p /etc/kubernetes; echo mine > /etc/matryoshka/joined; echo config > /etc/kubernetes/admin.conf\n';
const TREES = `printf 'kubelet tree /etc/kubernetes\\nkubelet tree /var/lib/kubelet\\n' >> /etc/matryoshka/made\n`;
const ETCD = `mkdir -p /var/lib/matryoshka/etcd/usr/local/bin
printf '#!/bin/sh\\ncase "$*" in *"member list"*) echo "1, started, n, https://10.0.0.5:2380, https://10.0.0.5:2379, false" ;; *"member add"*) echo "ETCD_INITIAL_CLUSTER=\\\\"n=https://10.0.0.5:2380\\\\"" ;; *) echo --feature-gates ;; esac\\n' > /var/lib/matryoshka/etcd/usr/local/bin/etcdctl
cd /var/lib/matryoshka/etcd/usr/local/bin; chmod 755 etcdctl; cp etcdctl etcd; echo docker.io/x:1 > /etc/matryoshka/installed/etcd\n`;
const IN_IMAGE = `${ETCD}mkdir -p /usr/local/image; mv /var/lib/matryoshka/etcd/* /usr/local/image/; rm -r /var/lib/matryoshka/etcd /etc/matryoshka/installed/etcd\n`;
const MEMBER =
  'ETCD_ENDPOINTS=https://10.0.0.5:2379 ETCD_IMAGE=docker.io/x:1 IP=10.0.0.5 NAME=n TOKEN=t INITIAL_CLUSTER=n=https://10.0.0.5:2380 LEARNER_SECONDS=1 JOINING_ETCD= NODE_NAME=n\n';
const JOIN = `CLUSTER_ID=mine DISCOVERY=d KUBEADM_CONFIG=k SECRET=s3cret RESOLV_NAMESERVERS=10.0.0.2 HAS_JOINED= WAS_REMOVED= FIRST_MEMBER=https://10.0.0.5:2379 PKI=$(cat /usr/local/archive)\n${MEMBER}`;
const UPGRADE = `FROM=v1.34.4 KUBE_VERSION=v1.35.4 NODE_NAME=n UPGRADE_CONFIG=k\n${file('KUBELET', 'kubelet')}${file('KUBEADM', 'kubeadm')}`;
/** Returns a substitute for kubeadm, which writes these files and fails if it cannot. */
const writes = (...paths: string[]) =>
  paths
    .map((path) => `mkdir -p ${path.replace(/\/[^/]*$/, '')}; echo made | tee ${path} > /dev/null || exit 1`)
    .join('\n');
const ETCD_MANIFEST = '/etc/kubernetes/manifests/etcd.yaml';
const APISERVER = '/etc/kubernetes/manifests/kube-apiserver.yaml';

/** Programs of a control plane on which each static pod with a manifest runs and is ready. */
const STATIC_PODS = {
  ctr: `cd /etc/kubernetes/manifests; case "$*" in
*'tasks ls'*) for f in *.yaml; do echo "\${f%.yaml} 1 RUNNING"; done ;;
*) for f in *.yaml; do case "$*" in *"\${f%.yaml}"*) echo "\${f%.yaml}" ;; esac; done ;;
esac`,
  kubectl: `case "$*" in *'get pod'*) printf True ;; *) echo config ;; esac`,
  curl: 'echo ok',
  systemctl: ':',
  sleep: ':',
};
/** Files that a change of settings replaces. */
const SETTINGS = [
  ...['apiserver', 'controller-manager', 'scheduler'].map(
    (pod) => `/etc/kubernetes/manifests/kube-${pod}.yaml`,
  ),
  ...[
    '/etc/kubernetes/pki/apiserver.crt',
    '/etc/kubernetes/pki/apiserver.key',
    '/var/lib/kubelet/config.yaml',
  ],
];

/** Returns shell code for a host with a baseline of these files, by path; then the files in `changed` differ. */
const sealed = (files: Readonly<Record<string, string>>, changed: readonly string[]) => `${JOINED}
cat > /usr/local/watch <<'WATCH'
${watch}
WATCH
mkdir -p /etc/kubernetes/pki
${Object.entries(files)
  .map(
    ([path, text]) =>
      `mkdir -p ${path.replace(/\/[^/]*$/, '')}; printf %s ${quoted(text)} > ${path}; echo 'role file ${path}' >> /etc/matryoshka/made\n`,
  )
  .join('')}
bash /usr/local/watch end
${changed.map((path) => `echo somebody > ${path}\n`).join('')}`;
const differing = (...paths: string[]) =>
  `DIFFERS=${base64(paths.map((path) => `file\t${path}\tchanged`).join('\n'))} WATCH=${quoted(watch)} ONLY_DEAD= IS_MASTER= ETCD_HERE= ETCD_SERVERS= ETCD_PEERS= MEMBERS_FIRST= IP=10.0.0.5 BALANCER_ADDRESS=x OTHERS= KUBEADM_CONFIG=k\n`;
const REPAIR = [
  'control-plane/member.sh',
  'etcd/etcd.sh',
  'repair/seal.sh',
  'repair/etcd-data.sh',
  'repair/etcd-start.sh',
  'repair/put.sh',
];
/** Libraries of scripts that restart components of a control plane. */
const COMPONENTS = [
  ...REPAIR,
  'repair/pods.sh',
  'control-plane/shared.sh',
  'reconfigure/former.sh',
  'reconfigure/components.sh',
];
const pem = (key: string) => `-----BEGIN PUBLIC KEY-----\n${key}\n-----END PUBLIC KEY-----\n`;
/** A stage of a rotation, with new keys beside the former ones. */
const rotating: Row = {
  vars: 'NODE_NAME=n SEQUENCE=7\n',
  library: [...COMPONENTS, 'rotate/keys.sh'],
  before: `mkdir -p /etc/kubernetes/manifests /etc/kubernetes/pki/matryoshka/next; cd /etc/kubernetes
for pod in apiserver controller-manager scheduler; do echo pod > manifests/kube-$pod.yaml; done; cd pki
echo one > sa.key; echo two > matryoshka/next/sa.key; printf -- '${pem('one')}' > sa.pub; printf -- '${pem('two')}' > matryoshka/next/sa.pub
echo 'key7 ${base64('x'.repeat(32))}' > matryoshka/next/encryption.key; printf -- '- name: key1\n  secret: c2VjcmV0\n' > matryoshka/encryption.yaml`,
  programs: STATIC_PODS,
  // A mark stays until components have started.
  varies: /^\/var\/lib\/matryoshka\/rotate(-|d$)/,
};

const AUTHORITIES = ['ca', 'front-proxy-ca', 'etcd/ca'].flatMap((name) => [`${name}.crt`, `${name}.key`]);

const bridge = async (verb: string): Promise<Row> => ({
  text: `${prelude}\nVERB=${verb} RUN='owner 1 1 p' BRIDGE=br0 ID=u CIDR=10.1.0.0/24 ADDRESS=10.1.0.1/24\n${await bridges('bridges.sh')}`,
  before: `printf 'cluster owner\\nnetwork link br1\\n${verb === 'put' ? '' : 'network link br0\\nnetwork table ip br0\\n'}' > /etc/matryoshka/made`,
  programs: {
    ip: 'case "$*" in *link*show*) exit 1 ;; esac',
    sysctl: 'echo 0',
    nft: 'cat > /dev/null; case "$*" in list*) exit 1 ;; esac',
  },
});
/** Runs a verb of the fence with the fence's own text. */
const fenced = (verb: string, before = ''): Row => ({
  text: fence,
  command: `cat > /dev/null; sh /usr/local/sbin/fence-itself ${verb}`,
  before: `cat > /usr/local/sbin/fence-itself <<'FENCE'\n${fence}\nFENCE\n${before}`,
});
const OWNED = `printf '{"clusterId":"mine","epoch":{"sequence":1,"attempt":1},"podUid":"p","released":false}\\n' > /etc/matryoshka/owner.json`;

export const rows: Readonly<Record<string, Row>> = {
  'host/host.sh': {
    vars: 'CLUSTER_ID=mine POD_CIDR=10.0.0.0/16 CARRIES_ETCD=yes\n',
    before: 'rm /etc/matryoshka/made',
  },
  'host/endpoint.sh': {
    vars: "CLUSTER_ID=mine ENDPOINT_NAME=api.demo ENDPOINT_ADDRESSES='10.0.0.1 10.0.0.2'\n",
    // A bind mount, as in a container, which needs one page more; and a copy in a pod.
    before: `{ printf '127.0.0.1 caf\\351\\r\\n'; head -c 4050 /dev/zero | tr '\\0' '#'; printf '\\nlast without an end'; } > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts; mkdir -p /var/lib/kubelet/pods/p; printf '127.0.0.1 localhost\\n10.9.9.9 api.demo # matryoshka mine\\n' > /var/lib/kubelet/pods/p/etc-hosts`,
  },
  'host/keep-endpoint.sh': {
    vars: 'CLUSTER_ID=mine ENDPOINT_NAME=api.demo ENDPOINT_ADDRESSES=10.0.0.1\n',
    before: "printf '127.0.0.1 localhost\\n10.0.0.1 api.demo # matryoshka mine\\n' > /etc/hosts",
  },
  'host/undo.sh': {
    before: `printf '127.0.0.1 localhost\\n10.0.0.1 api.demo # matryoshka mine\\n' > /etc/hosts; printf 'host line /etc/hosts\\n' >> /etc/matryoshka/made`,
  },
  'runtime/sources.sh': {
    vars: "MIRROR=http://a MIRRORED=docker.io REGISTRY_MIRRORS='ghcr.io http://m' HTTP_PROXY_URL=http://p HTTPS_PROXY_URL=http://p NO_PROXY_LIST=localhost\n",
  },
  'runtime/runtime.sh': {
    vars: `ARTIFACTS_BASE_URL=http://a CONTAINERD_CONFIG='version = 3' IMAGES="docker.io/x:1 images/x ${sumOf('images/x')}"\nCONTAINERD_PATH=containerd.tgz CONTAINERD_SHA256=${ARCHIVE_SUM} BALANCER_IMAGE=docker.io/x:1\n${file('RUNC', 'runc')}`,
    // balancer.sh unpacks it if it is missing.
    varies: /\/balancer/,
  },
  'kubelet/kubelet.sh': {
    vars: `ARTIFACTS_BASE_URL=http://a RESOLV_NAMESERVERS='10.0.0.2 10.0.0.3' REGISTRY_LOGIN=${base64('{"auths":{"a":{}}}')}\n${file('KUBELET', 'kubelet')}${file('KUBEADM', 'kubeadm')}${file('KUBECTL', 'kubectl')}`,
  },
  'kubelet/start.sh': {},
  'balancer/balancer.sh': {
    vars: `BALANCER_CONFIG='listen api' BALANCER_IMAGE=docker.io/x:1 BALANCER_ADDRESS=127.0.0.1:6443 CA=${base64('authority')}\n`,
  },
  'watch/watch.sh': { vars: `NODE_NAME=n WATCH=${quoted(watch.trimEnd())}\n` },
  'network/network.sh': { vars: 'MANIFEST=m\n' },
  'network/plugins.sh': {
    vars: `ARTIFACTS_BASE_URL=http://a NETWORK=flannel CNI_PATH=cni.tgz CNI_SHA256=${ARCHIVE_SUM} FLANNEL_PATH=flannel.tgz FLANNEL_SHA256=${ARCHIVE_SUM}\n`,
  },
  'network/policies.sh': { vars: 'KUBE_ROUTER_IMAGE=docker.io/x:1\n' },
  'balancer/forget.sh': {
    before: `echo 'balancer unit matryoshka-balancer.service' >> /etc/matryoshka/made`,
  },
  'network/undo.sh': {
    before: `printf 'network sets KUBE-SRC\\nnetwork link cni0\\n' >> /etc/matryoshka/made`,
    library: ['network/rules.sh'],
    programs: { ipset: ':', ip: 'exit 1' },
  },
  'network/forget-policies.sh': {
    before: `printf 'network sets KUBE-SRC\\nnetwork before sets of addresses looked at\\n' >> /etc/matryoshka/made`,
    library: ['network/rules.sh'],
    programs: { ipset: ':', iptables: ':', ip6tables: ':' },
  },
  'manifests/apply.sh': { vars: `MANIFESTS='a ${gzipSync('a').toString('base64')}'\n` },
  'control-plane/init.sh': {
    vars: `POD_CIDR=10.0.0.0/16 SERVICE_CIDR=10.1.0.0/16 ENCRYPTION_AT_REST=yes AUDIT_POLICY=policy PATCHES='kube-apiserver00+json.json ${base64('[]')}' MADE_WITH=this\n${JOIN}`,
    library: [
      'control-plane/member.sh',
      'control-plane/shared.sh',
      'control-plane/init-library.sh',
      'control-plane/begin-etcd.sh',
    ],
    before: `${TREES}${IN_IMAGE}printf '#!/bin/sh\nmkdir -p /var/lib/etcd/member && echo data > /var/lib/etcd/member/wal && exec /bin/sleep 9\n' > /usr/local/image/usr/local/bin/etcd`,
    programs: { kubeadm: writes('/etc/kubernetes/admin.conf') },
    varies: /\/run\/matryoshka\/token|encryption\.yaml/,
    others: /\/(admin|resolv)\.conf$|^\/var\/lib\/etcd\//,
    once: true,
  },
  'control-plane/issue.sh': {
    vars: `CREATES= HAS_AUTHORITIES= MEMBERS='10.0.0.9 {"a":1}' \n${JOIN}`,
    library: ['control-plane/member.sh'],
    before: `${JOINED}mkdir -p /etc/kubernetes/pki/etcd; for f in etcd/ca.crt etcd/ca.key apiserver-etcd-client.key; do echo x > /etc/kubernetes/pki/$f; done`,
    programs: {
      kubeadm: writes(
        ...['server', 'peer'].flatMap((name) => [
          `/run/matryoshka/etcd-certificates/etcd/${name}.crt`,
          `/run/matryoshka/etcd-certificates/etcd/${name}.key`,
        ]),
      ),
    },
  },
  'control-plane/join.sh': {
    vars: JOIN,
    library: [
      'control-plane/member.sh',
      'control-plane/shared.sh',
      'etcd/etcd.sh',
      'etcd/let-go.sh',
      'etcd/join.sh',
    ],
    before: TREES,
    programs: { kubeadm: writes('/etc/kubernetes/admin.conf') },
    others: /\/(admin|resolv)\.conf$/,
  },
  'etcd/unit.sh': {
    vars: `ANEW=yes RESTORED=\n${JOIN}`,
    library: ['etcd/etcd.sh', 'etcd/join.sh'],
    before: ETCD,
    // The unit of a new etcd names another state until the members agree.
    varies: /matryoshka-etcd\.service$/,
  },
  'etcd/pod.sh': {
    vars: JOIN,
    library: ['etcd/etcd.sh', 'etcd/join.sh'],
    before: `${IN_IMAGE}mkdir -p /etc/kubernetes/manifests`,
    programs: {
      kubeadm: `[ -z "\${KUBEADM_INIT_DRYRUN_DIR-}" ] || printf '    - --initial-cluster=n\\n    - --other\\n' | tee "$KUBEADM_INIT_DRYRUN_DIR/etcd.yaml" > /dev/null`,
    },
    others: /\/matryoshka\/(etcd\/|installed\/etcd$)/,
  },
  'etcd/lead.sh': {
    vars: 'IP=10.0.0.5 ETCD_SERVERS=https://10.0.0.6:2379 AWAIT= DID=\n',
    before: `mkdir -p /etc/kubernetes/manifests; printf '    - --etcd-servers=https://127.0.0.1:2379\\n    - --other\\n' > ${APISERVER}
cp /bin/bash /usr/local/sbin/kube-apiserver
/usr/local/sbin/kube-apiserver -c '/bin/sleep 60; :' x --advertise-address=10.0.0.5 --etcd-servers=https://10.0.0.6:2379 --etcd-servers=https://127.0.0.1:2379 < /dev/null > /dev/null 2>&1 &`,
  },
  'etcd/joined.sh': { vars: 'CLUSTER_ID=mine NAME=n IP=10.0.0.5\n' },
  'etcd/kubeadm-config.sh': {
    vars: `ETCD_STANZA='{"etcd": {"external": {}}}'\n`,
    programs: {
      kubectl: `case "$*" in *'get configmap'*) printf 'a: b\\netcd:\\n  local: {}\\n' ;; *) cat > /dev/null ;; esac`,
    },
  },
  'etcd/programs.sh': { vars: 'ETCD_IMAGE=docker.io/x:1\n' },
  'etcd/check.sh': {
    vars: `LEAVING= JOINING= STAYING= BEGINNING=\n${MEMBER}`,
    library: ['etcd/etcd.sh', 'etcd/components.sh'],
    before: IN_IMAGE,
  },
  'worker/join.sh': {
    vars: JOIN,
    library: ['etcd/etcd.sh', 'etcd/let-go.sh'],
    before: TREES,
    programs: { kubeadm: writes('/etc/kubernetes/kubelet.conf') },
    others: /\/(kubelet|resolv)\.conf$/,
  },
  'repair/made.sh': {
    vars: differing('/etc/matryoshka/made'),
    library: REPAIR,
    before: sealed({ '/etc/containerd/config.toml': 'config' }, ['/etc/matryoshka/made']),
  },
  'repair/put-back.sh': {
    vars: differing('/etc/containerd/config.toml', '/etc/systemd/system/kubelet.service'),
    library: REPAIR,
    before: sealed(
      { '/etc/containerd/config.toml': 'config', '/etc/systemd/system/kubelet.service': 'unit' },
      ['/etc/containerd/config.toml', '/etc/systemd/system/kubelet.service'],
    ),
  },
  'repair/certificates.sh': {
    vars: differing('/etc/kubernetes/pki/apiserver.crt'),
    library: REPAIR,
    before: sealed(
      { '/etc/kubernetes/pki/apiserver.crt': 'certificate', '/etc/kubernetes/pki/apiserver.key': 'key' },
      ['/etc/kubernetes/pki/apiserver.crt'],
    ),
    programs: { kubeadm: writes('/etc/kubernetes/pki/apiserver.crt', '/etc/kubernetes/pki/apiserver.key') },
  },
  'repair/start.sh': {
    vars: differing('/etc/containerd/config.toml'),
    library: REPAIR,
    before: `${sealed({ '/etc/containerd/config.toml': 'config' }, [])}printf 'unit kubelet\\nunit containerd\\n' > /var/lib/matryoshka/repair`,
    // A unit that cannot be removed from the list is restarted once more.
    varies: /\/matryoshka\/repair$/,
  },
  'repair/rejoin.sh': {
    vars: `LOST_DATA=lost ETCD_ID=1 ALL_LOST=10.0.0.5 SEQUENCE=7 ${differing().replace('ETCD_HERE=', 'ETCD_HERE=yes').replace('ETCD_PEERS=', 'ETCD_PEERS=10.0.0.6')}${MEMBER}`,
    library: [...REPAIR, 'etcd/join.sh'],
    before: `${sealed({ [ETCD_MANIFEST]: '    - --initial-cluster=n\n' }, [])}${IN_IMAGE}cat > /usr/local/image/usr/local/bin/etcdctl <<'CTL'
#!/bin/sh
case "$*" in *'member list'*) echo '1, started, o, https://10.0.0.6:2380, https://10.0.0.6:2379, false'; [ ! -e /tmp/added ] || echo '2, started, n, https://10.0.0.5:2380, https://10.0.0.5:2379, false' ;;
*'member add'*) echo > /tmp/added; echo 'ETCD_INITIAL_CLUSTER="n=https://10.0.0.5:2380"' ;; esac
CTL
mkdir -p /var/lib/etcd/member; echo former > /var/lib/etcd/member/db`,
    programs: {
      'systemd-run': ':',
      curl: `case "$*" in *:2380/members) echo 'X-Etcd-Cluster-ID: 1' ;; *) echo ok ;; esac`,
    },
    others: /\/matryoshka\/(etcd\/|installed\/etcd$)/,
  },
  'repair/verify.sh': {
    vars: `TRIES=1 ETCD_ONLY=\n${differing()}`,
    library: REPAIR,
    before: sealed({ '/etc/containerd/config.toml': 'config' }, []),
  },
  'repair/compare.sh': {
    vars: differing(),
    library: REPAIR,
    before: sealed({ '/etc/containerd/config.toml': 'config' }, ['/etc/containerd/config.toml']),
  },
  'renew/renew.sh': {
    vars: 'ETCD_HERE= NODE_NAME=n IP=10.0.0.5 KUBEADM_CONFIG=k\n',
    library: [...REPAIR, 'repair/pods.sh', 'renew/kubelet.sh'],
    before: `${sealed(Object.fromEntries(RENEWED.map((path) => [`/etc/kubernetes/${path}`, 'former'])), [])}mkdir -p /etc/kubernetes/pki/etcd
for f in ${AUTHORITIES.join(' ')}; do echo authority > /etc/kubernetes/pki/$f; done`,
    programs: {
      kubeadm: writes(...RENEWED.map((path) => `/etc/kubernetes/.renew.matryoshka/${path}`)),
      openssl: ':',
    },
    // A pod that cannot be removed from the list is restarted once more.
    varies: /\/matryoshka\/repair$/,
  },
  'reconfigure/check.sh': {
    vars: 'NODE_NAME=n KUBE_VERSION=v1 ETCD_HERE= WATCH=\n',
    library: ['upgrade/programs.sh', ...COMPONENTS],
    // An attempt that was cut short has left a manifest away.
    before: `${sealed(Object.fromEntries(SETTINGS.slice(0, 3).map((path) => [path, 'image: x:v1'])), [])}
mv /etc/kubernetes/manifests/kube-scheduler.yaml /etc/kubernetes/.kube-scheduler.matryoshka`,
    programs: STATIC_PODS,
  },
  'reconfigure/control-plane.sh': {
    vars: `NODE_NAME=n IP=10.0.0.5 ETCD_HERE= APPLIES=yes AUDIT_POLICY=policy MADE_WITH=m KUBEADM_CONFIG=k
PATCHES='kube-apiserver00+json.json ${base64('patch')}'\n`,
    library: [...COMPONENTS],
    before: `${sealed(Object.fromEntries(SETTINGS.map((path) => [path, 'former'])), [])}mkdir -p /etc/kubernetes/pki/etcd
for f in ${AUTHORITIES.join(' ')}; do echo authority > /etc/kubernetes/pki/$f; done`,
    programs: {
      kubeadm: `case "$*" in
*certs*) ${writes(...['crt', 'key'].map((end) => `/etc/kubernetes/.renew.matryoshka/pki/apiserver.${end}`))} ;;
*control-plane*) for pod in apiserver controller-manager scheduler; do echo made | tee $KUBEADM_INIT_DRYRUN_DIR/kube-$pod.yaml > /dev/null || exit 1; done ;;
*kubelet-config*) ${writes('/var/lib/kubelet/config.yaml')} ;;
esac`,
      openssl: `cat "\${@: -1}"`,
      ...STATIC_PODS,
    },
    others: /\/var\/lib\/kubelet\/config\.yaml$|\/var\/lib\/matryoshka\/reconfigure/,
  },
  'reconfigure/worker.sh': {
    library: ['reconfigure/former.sh'],
    before: 'mkdir -p /var/lib/kubelet; echo former > /var/lib/kubelet/config.yaml',
    programs: {
      kubeadm: writes('/var/lib/kubelet/config.yaml'),
      curl: 'echo ok',
      systemctl: ':',
      sleep: ':',
    },
    others: /\/var\/lib\/kubelet\/config\.yaml$|\/var\/lib\/matryoshka\/reconfigure/,
  },
  'repair/take.sh': {
    vars: `ETCD_HERE= GIVEN='ca.key ${base64('key of an authority')}'\n`,
    library: REPAIR,
    before: `${sealed({ '/etc/kubernetes/pki/ca.key': 'key of an authority' }, [])}rm /etc/kubernetes/pki/ca.key`,
  },
  'rotate/make.sh': {
    vars: 'SEQUENCE=7 KUBEADM_CONFIG=CERTIFICATES_DIR\n',
    library: ['control-plane/shared.sh', 'rotate/keys.sh'],
    before:
      'mkdir -p /etc/kubernetes/pki/matryoshka; echo keys > /etc/kubernetes/pki/matryoshka/encryption.yaml',
    programs: {
      kubeadm: `for f in sa.key sa.pub; do echo made | tee /etc/kubernetes/pki/matryoshka/next.new/$f > /dev/null || exit 1; done`,
    },
    // The key of encryption is random.
    varies: /\/next(\.new)?\/encryption\.key$/,
  },
  'rotate/store.sh': {
    vars: 'KEYS=$(tar -C /usr/local/keys -czf - . | base64 -w0)\n',
    library: ['rotate/keys.sh'],
    before: `mkdir -p /etc/kubernetes/pki/matryoshka/next /usr/local/keys
echo key | tee /usr/local/keys/sa.key > /usr/local/keys/sa.pub; echo former > /etc/kubernetes/pki/matryoshka/next/sa.key`,
  },
  'rotate/accept.sh': rotating,
  'rotate/use.sh': rotating,
  'rotate/forget.sh': rotating,
  'renew/member.sh': {
    vars: `ETCD_HERE= PKI=$(cat /usr/local/archive)\n${MEMBER}`,
    library: REPAIR,
    before: `${ETCD}${sealed({ '/etc/matryoshka/etcd/server.crt': 'former', '/etc/matryoshka/etcd/server.key': 'former' }, [])}`,
  },
  'renew/issue-kubelets.sh': {
    vars: "KUBELETS='10.0.0.5 n' KUBEADM_CONFIG=k\n",
    library: ['renew/kubelet.sh'],
    programs: {
      kubeadm: `printf 'client-certificate-data: %s\nclient-key-data: %s\n' ${base64('CERTIFICATE\n')} ${base64('KEY\n')}`,
    },
  },
  'renew/put-kubelet.sh': {
    vars: `NODE_NAME=n PAIR=${base64('CERTIFICATE KEY')}\n`,
    library: ['renew/kubelet.sh'],
    before: "mkdir -p /etc/kubernetes; echo 'server: https://api.demo:6443' > /etc/kubernetes/kubelet.conf",
    programs: { curl: 'echo 200', openssl: ':' },
    // Its name has the time.
    varies: /\/kubelet-client-/,
  },
  'upgrade/prepare.sh': {
    vars: `${UPGRADE}ARTIFACTS_BASE_URL=http://a KUBECTL_PATH= RUNC_SHA256=r CONTAINERD_SHA256=c CNI_SHA256=n\n`,
    library: ['upgrade/programs.sh'],
    before: 'cp /usr/local/sbin/kube* /usr/local/bin/',
    programs: { kubeadm: 'echo v1.34.4' },
  },
  'upgrade/worker.sh': {
    vars: UPGRADE,
    library: ['upgrade/programs.sh'],
    before: `cd /var/lib/matryoshka; mkdir -p upgrade/v1.35.4; echo new | tee upgrade/v1.35.4/kubeadm > upgrade/v1.35.4/kubelet
mkdir -p /var/lib/kubelet /etc/kubernetes/manifests; echo config > /var/lib/kubelet/config.yaml; echo pod > /etc/kubernetes/manifests/etcd.yaml`,
  },
  'upgrade/control-plane.sh': {
    vars: `${UPGRADE}${file('KUBECTL', 'kubectl')}APPLIES= OTHERS= IP=10.0.0.5 INIT_CONFIG=k ETCD_HERE=\n`,
    library: [
      ...['upgrade/programs.sh', 'upgrade/applied.sh', 'upgrade/former.sh', 'upgrade/switch.sh'],
      ...['control-plane/member.sh', 'repair/pods.sh', 'etcd/etcd.sh'],
    ],
    before: `cd /var/lib/matryoshka; mkdir -p upgrade/v1.35.4 /var/lib/kubelet /etc/kubernetes/manifests
echo new | tee upgrade/v1.35.4/kubeadm upgrade/v1.35.4/kubectl > upgrade/v1.35.4/kubelet
echo config | tee /var/lib/kubelet/config.yaml > /etc/kubernetes/admin.conf
for pod in apiserver controller-manager scheduler; do echo ' image: x:v1.34.4' > /etc/kubernetes/manifests/kube-$pod.yaml; done`,
    programs: {
      kubeadm: `case "$*" in *'init phase'*) for pod in apiserver controller-manager scheduler; do echo ' image: x:v1.35.4' | tee "$KUBEADM_INIT_DRYRUN_DIR/kube-$pod.yaml" > /dev/null || exit 1; done ;; esac`,
      curl: `case "$*" in */version) echo '"v1.35.4"' ;; *) echo ok ;; esac`,
      kubectl: `case "$*" in *'get configmap'*) echo 'kubernetesVersion: v1.34.4' ;; *'get pod kube'*) echo x:v1.35.4 ;; *'get pods'*) printf 'True x:v1.35.4\nTrue x:v1.35.4\nTrue x:v1.35.4\n' ;; *) printf 'v1.35.4 True' ;; esac`,
    },
    others: /manifests\/kube-/,
  },
  'upgrade/clean.sh': {
    vars: 'FROM=v1.34.4 KUBE_VERSION=v1.35.4 IMAGES=\n',
    before:
      'mkdir -p /var/lib/matryoshka/upgrade/v1.34.4; echo a | tee /var/lib/matryoshka/upgrade/v1.34.4.db > /var/lib/matryoshka/upgrade/v1.34.4/kubeadm',
  },
  'upgrade/put-back.sh': {
    vars: `${UPGRADE}IS_MASTER= KUBECTL_PATH=\n`,
    library: ['upgrade/programs.sh', 'upgrade/former.sh', 'control-plane/member.sh', 'repair/pods.sh'],
    before: `cd /var/lib/matryoshka; mkdir -p upgrade/v1.35.4/files/manifests /var/lib/kubelet /etc/kubernetes/manifests
echo new | tee upgrade/v1.35.4/kubeadm > upgrade/v1.35.4/kubelet; cd upgrade/v1.35.4/files
echo former | tee config.yaml kubeadm-flags.env manifests/etcd.yaml > /dev/null; echo later > /etc/kubernetes/manifests/etcd.yaml`,
  },
  'upgrade/keep-objects.sh': { vars: UPGRADE },
  'upgrade/snapshot.sh': {
    vars: `${UPGRADE}${MEMBER}APPLIED=\n`,
    library: ['etcd/etcd.sh'],
    before: `${IN_IMAGE}cd /usr/local/image/*/local/bin
printf '#!/bin/bash\nfor last; do :; done; echo data > "$last"\n' > etcdctl; printf '#!/bin/sh\necho 1\n' > etcdutl; chmod 755 etcd*`,
  },
  'restore/receive.sh': {
    vars: `SHA256=$(printf data | sha256sum | cut -d' ' -f1) ETCD_IMAGE=docker.io/x:1\n`,
    before: `${IN_IMAGE}mkdir -p /var/lib/matryoshka/restore; printf data > /var/lib/matryoshka/restore/snapshot.db`,
  },
  'restore/stop.sh': {
    vars: 'RESOLV_NAMESERVERS=10.0.0.2 SEQUENCE=7 HAS_ETCD=yes\n',
    library: ['restore/keep.sh'],
    before: `${JOINED}${TREES}mkdir -p /var/lib/etcd/member /etc/kubernetes/manifests /var/lib/kubelet
echo db > /var/lib/etcd/member/db; echo pod > /etc/kubernetes/manifests/etcd.yaml; echo 'control-plane tree /var/lib/etcd' >> /etc/matryoshka/made`,
    programs: { kubeadm: ':' },
    // It is at either place.
    varies: /\/before-restore\/|\/var\/lib\/etcd\//,
  },
  'restore/stop-member.sh': {
    vars: 'SEQUENCE=7\n',
    library: ['restore/keep.sh'],
    before: `${JOINED}${TREES}mkdir -p /var/lib/etcd/member /etc/matryoshka/etcd; echo key > /etc/matryoshka/etcd/server.key
echo db > /var/lib/etcd/member/db; echo 'etcd tree /var/lib/etcd' >> /etc/matryoshka/made`,
    // It is at either place.
    varies: /\/before-restore\/|\/var\/lib\/etcd\//,
  },
  'restore/keys.sh': {
    vars: 'SEQUENCE=7 AUTHORITIES=$(cat /usr/local/archive)\n',
    before: `${ETCD}mkdir -p /var/lib/matryoshka/before-restore/7; echo yes > /var/lib/matryoshka/before-restore/7/complete`,
  },
  'restore/data.sh': {
    vars: 'SEQUENCE=7 NODE_NAME=n INITIAL_CLUSTER=n=https://10.0.0.5:2380 PEER=https://10.0.0.5:2380 TOKEN=t BUMP=1 SNAPSHOT=s\n',
    before: `${ETCD}printf '#!/bin/bash\nwhile [ "$1" != --data-dir ]; do shift; done\nmkdir -p "$2/member" && echo data > "$2/member/db"\n' > etcdutl
chmod 755 etcdutl; mkdir -p /var/lib/etcd /var/lib/matryoshka/before-restore/7; echo yes > /var/lib/matryoshka/before-restore/7/complete`,
  },
  'restore/start.sh': {
    vars: `${JOIN}AUDIT_POLICY=policy PATCHES= MADE_WITH=m\n`,
    library: ['control-plane/init-library.sh', 'control-plane/shared.sh'],
    before: TREES,
    programs: { kubeadm: writes('/etc/kubernetes/admin.conf') },
    varies: /\/run\/matryoshka\/token/,
    others: /\/admin\.conf$/,
  },
  'restore/finish.sh': {
    vars: 'SEQUENCE=7\n',
    library: ['etcd/etcd.sh'],
    before: 'mkdir -p /var/lib/matryoshka/before-restore/7 /var/lib/matryoshka/restore',
  },
  'upgrade/member.sh': { vars: MEMBER, library: ['etcd/etcd.sh'], before: IN_IMAGE },
  'fence/take.sh': {
    vars: `FENCE=${quoted(fence.trimEnd())} RUN='mine 1 1 p' OPTIONS= NAME=n IP=10.0.0.5\n`,
  },
  'the fence: take': fenced('take mine 1 1 p'),
  'the fence: take by a later run': fenced('take mine 2 1 p', OWNED),
  'the fence: release': { ...fenced('release mine 1 1 p', OWNED), once: true },
  'the fence: stop': fenced('stop mine 1 1 p', OWNED),
  'the fence: mend': { ...fenced('mend', 'printf x > /etc/matryoshka/owner.json'), once: true },
  'the drift agent: end': {
    text: watch,
    command: 'cat > /dev/null; bash /usr/local/watch end',
    before: sealed({ '/etc/containerd/config.toml': 'config' }, ['/etc/containerd/config.toml']).replaceAll(
      'bash /usr/local/watch end',
      'bash /usr/local/watch end; bash /usr/local/watch begin',
    ),
  },
  'bridges: put': await bridge('put'),
  'bridges: remove': await bridge('remove'),
  'bridges: take': {
    text: `FENCE=${quoted(fence.trimEnd())} RUN='mine 1 1 p'\n${await bridges('take.sh')}`,
    command: 'sh -s',
  },
};
