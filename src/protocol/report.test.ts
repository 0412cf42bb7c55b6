import { expect, it } from 'vitest';
import { reportSchema } from './report.ts';

it('strips control characters of a host from a message, and keeps its lines', () => {
  const message = 'a\u001b[31mred\u001b[0m\r\nb\u202e\u0007c';
  const { message: text, hosts } = reportSchema.parse({
    success: false,
    message,
    hosts: [{ ip: '192.0.2.1', ok: false, message }],
  });
  expect([text, hosts[0]?.message]).toEqual(['ared\nbc', 'ared\nbc']);
});
