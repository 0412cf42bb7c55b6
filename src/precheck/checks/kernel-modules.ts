import { type Check, type CheckContext, error, fine, joins } from '../check.ts';

/** Purpose of each module, and a test whether the kernel has it, loaded or built in. */
const MODULES: Readonly<Record<string, { for: string; has: string }>> = {
  overlay: { for: 'containerd', has: 'grep -qw overlay "$R/proc/filesystems"' },
  br_netfilter: { for: 'Services of pods on one host', has: '[ -d "$R/proc/sys/net/bridge" ]' },
  nf_conntrack: { for: 'kube-proxy', has: '[ -e "$R/proc/sys/net/netfilter/nf_conntrack_max" ]' },
  vxlan: { for: 'flannel', has: 'false' },
};
const NAMES = Object.keys(MODULES);
/** Modules that ansible/roles/host loads on every host. */
const LOADED = ['overlay', 'br_netfilter'];

function needs({ host, podNetwork }: CheckContext, module: string): boolean {
  if (host.role === 'etcd') return LOADED.includes(module);
  return module !== 'vxlan' || podNetwork.startsWith('flannel');
}

/** Script with a dry run of modprobe, which reads the modules of the running kernel and loads nothing. */
const script = `R=\${MATRYOSHKA_ROOT:-} release=$(uname -r)
command -v modprobe >/dev/null || exit 0
has() {
  [ ! -d "$R/sys/module/$1" ] || return 0
  ! grep -q "/$1[.]ko" "$R/lib/modules/$release/modules.builtin" || return 0
  case $1 in
${NAMES.map((name) => `    ${name}) ${MODULES[name]?.has} ;;`).join('\n')}
  esac
}
for module in ${NAMES.join(' ')}; do
  ! has $module || continue
  said=$(modprobe -n -v \${R:+-d "$R"} $module 2>&1) || { say noModule "$module $said"; continue; }
  case $said in *'install /bin/false'* | *'install /bin/true'*) say noModule "$module modprobe.d has \\"$said\\"" ;; esac
done
[ -d "$R/lib/modules/$release" ] || say noModules "$release $(ls "$R/lib/modules" | paste -sd' ' -)"`;

/** Finds modules that our roles, kube-proxy and flannel need, and that the kernel neither has nor can load. */
export const kernelModules: Check = {
  name: 'kernel-modules',
  script: () => script,
  good: '',
  check(context) {
    const { host } = context;
    if (!joins(context)) return fine;
    const missing = host.said
      .all('noModule')
      .map((line) => /^(\S+) ?(.*)$/.exec(line) ?? [])
      .filter(([, name = '']) => needs(context, name));
    if (missing.length === 0) return fine;
    const [running = '', ...installed] = host.said.text('noModules').split(' ').filter(Boolean);
    const fix =
      running === ''
        ? 'install the package with the modules of this kernel (Ubuntu: linux-modules-extra), or remove the line of /etc/modprobe.d that disables them'
        : installed.length > 0
          ? `the running kernel is ${running}, and /lib/modules has ${installed.join(', ')}: the kernel was updated, so restart the host`
          : `/lib/modules has nothing for the running kernel ${running}: install its modules`;
    const named = missing.map(([, name = '', said = '']) => {
      const why = said.replace(/^modprobe: (FATAL: )?/, '');
      return `${name}, for ${MODULES[name]?.for ?? 'Kubernetes'}${why === '' ? '' : ` (${why})`}`;
    });
    return error(`the kernel cannot load ${named.join('; ')}; ${fix}`);
  },
};
