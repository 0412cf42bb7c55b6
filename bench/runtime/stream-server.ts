import { createSecureServer, type ServerHttp2Stream } from 'node:http2';
import { createServerCertificates } from '#lab/apiserver/certificates.ts';

/**
 * Simulates an API server with Pods: an empty list, then a watch that repeats one recorded event for 500 Pods in turn, at an
 * even rate. Each event has its number and the time at which it was written. Arguments: the recorded object as JSON, events
 * a second, seconds.
 */
const [recorded = '{}', rate = '1000', seconds = '60'] = process.argv.slice(2);
const TICK_MS = 10;
const PODS = 500;
const total = Number(rate) * Number(seconds);
const { ca, cert, key } = await createServerCertificates();
const server = createSecureServer({ cert, key, allowHTTP1: true });

const [head = '', afterName = '', afterVersion = '', tail = ''] = JSON.stringify({
  type: 'MODIFIED',
  object: JSON.parse(recorded),
})
  .replace(/"name":"[^"]*"/, '"name":"pod-␟"')
  .replace(/"resourceVersion":"\d+"/, '"resourceVersion":"␟"')
  .replace(/"filler":"/, '"sent":"␟","filler":"')
  .split('␟');

const now = () => performance.timeOrigin + performance.now();

function play(stream: ServerHttp2Stream): void {
  const began = now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(total, Math.floor(((now() - began) * Number(rate)) / 1000));
    let text = '';
    for (; sent < due; sent += 1) {
      text += `${head}${sent % PODS}${afterName}${sent + 2}${afterVersion}${sent} ${now()}${tail}\n`;
    }
    if (text !== '') stream.write(text);
    if (sent < total) return;
    clearInterval(timer);
    process.stdout.write(`sent ${sent}\n`);
  }, TICK_MS);
  stream.on('close', () => clearInterval(timer));
}

server.on('request', (request, response) => {
  response.setHeader('content-type', 'application/json');
  if (new URL(request.url, 'https://server').searchParams.get('watch') !== 'true') {
    const list = { kind: 'PodList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] };
    response.end(JSON.stringify(list));
    return;
  }
  response.writeHead(200);
  if (response.stream) play(response.stream);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  process.stdout.write(`${JSON.stringify({ url: `https://127.0.0.1:${port}`, ca })}\n`);
});
// The parent process reads the output; this process ends with it.
process.stdin.on('end', () => process.exit()).resume();
