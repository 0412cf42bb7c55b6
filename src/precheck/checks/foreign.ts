import { type Check, type CheckContext, error, fine, joins } from '../check.ts';
import { isOpen, ownerOf } from './owner.ts';

/** Files, sockets and units that show that the host already runs containers or Kubernetes. */
const FILES = [
  ...['/usr/bin', '/usr/local/bin'].flatMap((folder) =>
    ['containerd', 'dockerd', 'crio', 'cri-dockerd', 'kubelet', 'kubeadm', 'k3s', 'rke2', 'k0s'].map(
      (name) => `${folder}/${name}`,
    ),
  ),
  ...['ctr', 'runc', 'kubectl'].map((name) => `/usr/local/bin/${name}`),
  ...['/etc/systemd/system', '/lib/systemd/system', '/usr/local/lib/systemd/system'].flatMap((folder) =>
    ['containerd', 'docker', 'crio', 'cri-docker', 'kubelet', 'etcd', 'k3s', 'k3s-agent'].map(
      (name) => `${folder}/${name}.service`,
    ),
  ),
  '/run/containerd/containerd.sock',
  '/run/docker.sock',
  '/run/crio/crio.sock',
];

/** Directories that may exist, but are empty on an unused host. */
const FOLDERS = [
  '/etc/kubernetes',
  '/etc/kubeadm',
  '/etc/containerd',
  '/etc/docker',
  '/etc/crio',
  '/etc/rancher',
  '/etc/cni/net.d',
  '/opt/cni/bin',
  '/var/lib/containerd',
  '/var/lib/docker',
  '/var/lib/crio',
  '/var/lib/kubelet',
  '/var/lib/etcd',
  '/var/lib/rancher',
  '/var/lib/k0s',
  '/var/lib/cni',
  '/var/snap/microk8s',
];

const PROCESSES =
  'containerd|containerd-shim*|dockerd|crio|cri-dockerd|etcd|kubelet|kubelite|k3s*|rke2*|k0s|kube-apiserver|kube-scheduler|kube-controller*|kube-proxy';

/** Number of names in a message from one directory. */
const NAMED = 3;

/**
 * Script that lists existing things in places that Matryoshka uses, each as in the manifest (ansible/README.md, The
 * manifest).
 */
const script = `R=\${MATRYOSHKA_ROOT:-} manifest=\${MATRYOSHKA_ROOT:-}/etc/matryoshka/made
[ -f "$manifest" ] && say madeBy "$(sed -n '1s/^cluster //p' "$manifest")"
ours() { [ -f "$manifest" ] && awk -v p="$1" '$3 == p || (($2 == "tree" || $2 == "content") && index(p, $3 "/") == 1) { y = 1 } END { exit !y }' "$manifest"; }
there() { [ -e "$R$1" ] || [ -L "$R$1" ]; }
found() { if ours "$2"; then say made "$1"; else say foreign "$1"; return 1; fi; }
for path in ${FILES.join(' ')}; do there $path && found $path $path; done
for folder in ${FOLDERS.join(' ')}; do
  [ -d "$R$folder" ] || continue
  named=0
  for entry in "$R$folder"/* "$R$folder"/.[!.]*; do
    entry=\${entry#"$R"}
    there "$entry" && [ "$entry" != $folder/lost+found ] && [ "$entry" != $folder/.matryoshka-removed ] || continue
    found "$entry" "$entry" || named=$((named + 1))
    [ $named -lt ${NAMED} ] || break
  done
done
[ -z "$R" ] || exit 0
for process in /proc/[0-9]*; do
  read -r name < $process/comm || continue
  case $name in ${PROCESSES}) ;; *) continue ;; esac
  case $(cat $process/cgroup) in
    *kubepods* | */kubelet.service*) unit=kubelet.service ;; */containerd.service*) unit=containerd.service ;;
    */matryoshka-etcd.service*) unit=matryoshka-etcd.service ;; *) unit=none ;;
  esac
  found "process $name (pid \${process#/proc/})" $unit
done`;

/**
 * Whether files in the manifest count as ours: manifest and owner file must name this cluster, or the one that may be
 * reclaimed.
 */
function isKnown(context: CheckContext): boolean {
  const { said, clusterId, reclaim } = context.host;
  const by = said.text('madeBy');
  return isOpen(context) && by !== '' && (by === clusterId || by === reclaim);
}

/**
 * Finds runtimes, etcd data, kubelets, CNI state and similar things that are not ours: they are never wiped or overwritten.
 */
export const foreign: Check = {
  name: 'foreign',
  script: () => script,
  good: '',
  check(context) {
    if (!joins(context)) return fine;
    const { said } = context.host;
    const found = ownerOf(said);
    // The owner check reports what another of our clusters made.
    const reported =
      isKnown(context) || (found && !found.released && !isOpen(context)) ? [] : said.all('made');
    const things = [...said.all('foreign'), ...reported];
    if (things.length === 0) return fine;
    return error(
      `carries what Matryoshka did not make: ${things.join(', ')}; nothing of it was touched. ` +
        'Remove it yourself if it is not needed, or choose another host',
    );
  },
};
