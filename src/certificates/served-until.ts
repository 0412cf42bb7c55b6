import { connect } from 'node:tls';

const ANSWER_MS = 10_000;

/**
 * Returns when the first certificate ends of those that servers show. Servers that do not answer are left out; rejects if none
 * answers.
 */
export async function firstEnd(urls: readonly string[]): Promise<Date> {
  const ends = await Promise.allSettled(urls.map(servedUntil));
  const answered = ends.flatMap((one) => (one.status === 'fulfilled' ? [one.value.getTime()] : []));
  if (answered.length === 0) throw new Error(`none of ${urls.join(', ')} shows a certificate`);
  return new Date(Math.min(...answered));
}

/**
 * Returns when the certificate ends that a server shows, also if it has ended. Nothing is sent, so the certificate is not
 * verified. Rejects after 10 s without one.
 */
export function servedUntil(url: string): Promise<Date> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
    const end = (error?: Error): void => {
      socket.destroy();
      if (error) reject(error);
    };
    socket.setTimeout(ANSWER_MS, () => end(new Error(`${host} shows no certificate within ${ANSWER_MS} ms`)));
    socket.once('error', end);
    socket.once('secureConnect', () => {
      const ends = socket.getPeerX509Certificate()?.validToDate;
      if (ends) resolve(ends);
      end(ends ? undefined : new Error(`${host} shows no certificate`));
    });
  });
}
