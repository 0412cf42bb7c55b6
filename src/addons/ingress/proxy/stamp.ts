import type { Clock } from '#base/clock.ts';
import type { Fields } from './http1/fields.ts';

const SERVER = 'matryoshka';

/** Adds what an answer of a gateway has, where its endpoint did not tell it. Source: RFC 9110, 6.6.1 and 10.2.4. */
export type Stamp = (fields: Fields) => void;

export function createStamp(clock: Pick<Clock, 'now'>): Stamp {
  let second = Number.NaN;
  let date = '';
  return (fields) => {
    let [hasDate, hasServer] = [false, false];
    for (let at = 0; at < fields.length; at += 2) {
      if (fields[at] === 'date') hasDate = true;
      else if (fields[at] === 'server') hasServer = true;
    }
    if (!hasServer) fields.push('server', SERVER);
    if (hasDate) return;
    const now = clock.now();
    const its = Math.floor(now.getTime() / 1_000);
    // Made once for all answers of a second.
    if (its !== second) date = now.toUTCString();
    second = its;
    fields.push('date', date);
  };
}
