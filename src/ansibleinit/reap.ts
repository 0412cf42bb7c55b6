import { readdirSync, readFileSync } from 'node:fs';
import koffi from 'koffi';

const INTERVAL_MS = 250;
const WNOHANG = 1;

/** A zombie child of ours; the start time tells a pid from its next bearer. */
function zombies(parent: number): Set<string> {
  const found = new Set<string>();
  for (const entry of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    try {
      // The command name, in parentheses, may hold anything: read behind its end (proc(5), /proc/pid/stat).
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (fields[0] === 'Z' && fields[1] === String(parent)) found.add(`${entry} ${fields[19]}`);
    } catch {
      // It is gone already.
    }
  }
  return found;
}

/**
 * Reaps orphans, as process 1 must: libuv waits only for children of its own. A zombie is taken only when two scans in
 * a row have seen it, so that libuv's own children are left to libuv. Answers how to stop.
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
