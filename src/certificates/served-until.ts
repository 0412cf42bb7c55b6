import { connect } from 'node:tls';

const ANSWER_MS = 10_000;

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
