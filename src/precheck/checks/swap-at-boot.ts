import { type Check, error, fine, joins } from '../check.ts';
import { swapLimits } from './swap.ts';

/**
 * Script that finds what enables swap at boot: fstab, units, a GPT partition, zram by its generator or by a service. A mask
 * below /run is lost at boot, so only masks in /etc count. Services enable swap without swap.target.
 */
const script = `R=\${MATRYOSHKA_ROOT:-}
masked() { [ "$(readlink "$R/etc/systemd/system/$1")" = /dev/null ]; }
# Whether swap.target or the unit is masked.
off() { masked swap.target || masked "$1"; }
unit_of() {
  tag=\${1%%=*} path=$1
  case $1 in
    UUID=* | LABEL=* | PARTUUID=* | PARTLABEL=*)
      path=/dev/disk/by-$(printf %s "$tag" | tr A-Z a-z)/$(printf %s "\${1#*=}" | tr -d '"') ;;
  esac
  case $path in
    *[!A-Za-z0-9:_./-]*) systemd-escape --path --suffix=swap "$path" ;;
    *) printf '%s.swap\\n' "$(printf %s "\${path#/}" | sed 's/-/\\\\x2d/g; s#/#-#g')" ;;
  esac
}
awk '$1 !~ /^#/ && $3 == "swap" && $4 !~ /(^|,)noauto(,|$)/ { print $1 }' "$R/etc/fstab" | while read -r what; do
  off "$(unit_of "$what")" || say swapAtBoot "/etc/fstab $what"
done
for unit in "$R"/etc/systemd/system/*.wants/*.swap "$R"/etc/systemd/system/*.requires/*.swap "$R"/run/systemd/generator.late/*.swap; do
  [ -e "$unit" ] || [ -L "$unit" ] || continue
  case $unit in */swap.target.* | */generator.late/*) ! masked swap.target || continue ;; esac
  unit=\${unit##*/}
  masked "$unit" || say swapAtBoot "unit $unit"
done
for service in zramswap.service zram-config.service dphys-swapfile.service; do
  ! masked $service || continue
  for wants in "$R"/etc/systemd/system/*.wants/$service; do [ ! -L "$wants" ] || say swapAtBoot "unit $service"; done
done
for file in "$R"/etc/systemd/zram-generator.conf "$R"/etc/systemd/zram-generator.conf.d/*.conf "$R"/usr/lib/systemd/zram-generator.conf "$R"/usr/lib/systemd/zram-generator.conf.d/*.conf; do
  [ -f "$file" ] || continue
  # An empty file of /etc takes the place of the distribution's.
  [ ! -e "$R/etc/systemd/zram-generator.conf" ] || [ "\${file#"$R"}" != /usr/lib/systemd/zram-generator.conf ] || continue
  ! grep -q '^mount-point' "$file" || continue
  sed -n 's/^\\[\\(zram[0-9]*\\)\\].*/\\1/p' "$file" | while read -r device; do
    off "dev-$device.swap" || say swapAtBoot "zram \${file#"$R"}"
  done
done`;

/** Returns the remediation for each source. */
function fixFor(line: string): string {
  const [kind, name = ''] = line.split(' ');
  if (kind === '/etc/fstab') return `remove the line of ${name} from /etc/fstab`;
  if (kind === 'zram') return `remove ${name}, or its [zram] sections`;
  return `run "systemctl mask ${name}"`;
}

/** Reports swap that is enabled at boot, with which the kubelet would not start. The swap check reports present swap. */
export const swapAtBoot: Check = {
  name: 'swap-at-boot',
  script: () => script,
  good: '',
  check(context) {
    const found = [...new Set(context.host.said.all('swapAtBoot'))];
    if (!joins(context) || context.host.role === 'etcd' || swapLimits.parse(context.limits).swap) return fine;
    return found.length === 0
      ? fine
      : error(
          `swap comes back when the host starts, and the kubelet will not start then: ${found.map(fixFor).join('; ')}`,
        );
  },
};
