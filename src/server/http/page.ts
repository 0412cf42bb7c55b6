import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** Files of the web page, as `deploy/bundle.ts` builds them from `dashboard/`. */
const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page/main.js': ['main.js', 'text/javascript; charset=utf-8'],
  '/page/main.css': ['main.css', 'text/css; charset=utf-8'],
} as const;

/**
 * The page loads nothing from elsewhere, and no other page may embed it. Its components set styles of elements
 * (w3.org, Content Security Policy Level 3).
 */
const POLICY = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const takesGzip = (accepted = ''): boolean => /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(accepted);

/** Serves the web page from a directory, compressed. Browsers ask each time whether a file has changed. */
export function servePage(app: FastifyInstance, directory: string): void {
  for (const [url, [name, type]] of Object.entries(FILES)) {
    const plain = readFileSync(join(directory, name));
    const packed = gzipSync(plain, { level: 9 });
    // Weak: it stands for the plain and the compressed bytes.
    const tag = `W/"${createHash('sha256').update(plain).digest('hex').slice(0, 32)}"`;
    app.get(url, async ({ headers }, reply) => {
      reply
        .header('content-security-policy', POLICY)
        .header('referrer-policy', 'no-referrer')
        .header('cache-control', 'no-cache')
        .header('vary', 'accept-encoding')
        .header('etag', tag)
        .type(type);
      if (headers['if-none-match'] === tag) return reply.code(304).send();
      return takesGzip(headers['accept-encoding'])
        ? reply.header('content-encoding', 'gzip').send(packed)
        : reply.send(plain);
    });
  }
}
