import { describe, expect, it } from 'vitest';
import { knownHostLine, pinsOf } from './known-hosts.ts';

/** Builds a public key blob: two strings, each after its length. */
function blob(type: string, fill: number): Buffer {
  const part = (content: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(content.length);
    return Buffer.concat([length, content]);
  };
  return Buffer.concat([part(Buffer.from(type)), part(Buffer.alloc(32, fill))]);
}
const TYPE = 'ssh-ed25519';
const key = blob(TYPE, 1).toString('base64');
const other = blob(TYPE, 2).toString('base64');
const pinned = (text: string, host = '10.0.0.1', port = 22) => [
  ...(pinsOf(text, host, port).pinned.get(TYPE) ?? []),
];

describe('known_hosts', () => {
  it.each<[string, string, string, number, boolean]>([
    ['a plain name', `10.0.0.1 ${TYPE} ${key}`, '10.0.0.1', 22, true],
    ['one name of several', `db,10.0.0.1 ${TYPE} ${key} comment`, '10.0.0.1', 22, true],
    ['a port', `[10.0.0.1]:2222 ${TYPE} ${key}`, '10.0.0.1', 2222, true],
    ['another port', `10.0.0.1 ${TYPE} ${key}`, '10.0.0.1', 2222, false],
    ['a pattern', `10.0.0.* ${TYPE} ${key}`, '10.0.0.1', 22, true],
    ['a pattern for one character', `10.0.0.? ${TYPE} ${key}`, '10.0.0.12', 22, false],
    ['a dot is a dot', `10.0.0.1 ${TYPE} ${key}`, '10x0.0.1', 22, false],
    ['an exception', `10.0.0.*,!10.0.0.1 ${TYPE} ${key}`, '10.0.0.1', 22, false],
    // Output of ssh-keygen -H for `10.0.0.1`, with a salt of 20 bytes `a`.
    [
      'a hashed name',
      `|1|YWFhYWFhYWFhYWFhYWFhYWFhYWE=|DYw6bS8nAo1E1QmKAIoguf7enbE= ${TYPE} ${key}`,
      '10.0.0.1',
      22,
      true,
    ],
    [
      'a hash of another name',
      `|1|YWFhYWFhYWFhYWFhYWFhYWFhYWE=|DYw6bS8nAo1E1QmKAIoguf7enbE= ${TYPE} ${key}`,
      '10.0.0.2',
      22,
      false,
    ],
    ['a comment', `# 10.0.0.1 ${TYPE} ${key}`, '10.0.0.1', 22, false],
  ])('handles %s', (_what, line, host, port, found) => {
    expect(pinned(line, host, port)).toEqual(found ? [key] : []);
  });

  it('keeps every key of a host, and finds revoked keys', () => {
    const text = `10.0.0.1 ${TYPE} ${key}\n10.0.0.1 ${TYPE} ${other}\n@revoked * ${TYPE} ${other}\n`;
    expect(pinned(text)).toEqual([key, other]);
    expect([...pinsOf(text, '10.0.0.1', 22).revoked]).toEqual([other]);
  });

  it.each([
    ['an authority', `@cert-authority 10.0.0.* ${TYPE} ${key}`, /line 1 .*@cert-authority/],
    ['a broken key', `\n10.0.0.1 ${TYPE} AAAA`, /line 2 .*no public key/],
    ['a key of another type', `10.0.0.1 ssh-rsa ${key}`, /no public key/],
    ['an unknown hash', `|2|x|y ${TYPE} ${key}`, /unknown kind/],
  ])('refuses %s instead of trusting at first sight', (_what, text, message) => {
    expect(() => pinned(text)).toThrow(message);
  });

  it('ignores lines for other hosts', () => {
    expect(pinned(`@cert-authority *.example.com ${TYPE} ${key}\nother ssh-dss AAAA\n`)).toEqual([]);
  });

  it('reads a line that it wrote', () => {
    expect(pinned(knownHostLine('10.0.0.1', 2222, blob(TYPE, 1)), '10.0.0.1', 2222)).toEqual([key]);
  });
});
