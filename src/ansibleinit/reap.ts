import { readdirSync, readFileSync } from 'node:fs';
import koffi from 'koffi';

const INTERVAL_MS = 250;
const WNOHANG = 1;

/** Lists zombie children; the start time distinguishes a pid from a later one of the same number. */
function zombies(parent: number): Set<string> {
  const found = new Set<string>();
  for (const entry of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    try {
      // The command name, in parentheses, may contain anything, so the fields after its end are read (proc(5),
      // /proc/pid/stat).
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' && fields[1] === String(parent)) found.add(`${entry} ${fields[19]}`);
    } catch {
      // The process is already gone.
    }
  }
  return found;
}

/**
 * Reaps orphans, as process 1 must: libuv waits only for its own children. It reaps a zombie only if two scans in a row have
 * seen it, which leaves libuv's children to libuv. Returns a function that stops it.
 */
export function reapOrphans(): () => void {
  const waitpid = koffi.load(null).func('int waitpid(int pid, void *status, int options)');
  let seen = new Set<string>();
  const timer = setInterval(() => {
    const now = zombies(process.pid);
    for (const zombie of now) {
      if (seen.has(zombie)) waitpid(Number(zombie.split(' ')[0]), null, WNOHANG);
    }
    seen = now;
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
