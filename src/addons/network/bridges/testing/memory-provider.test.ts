import { beforeEach, describe } from 'vitest';
import { type MemoryProvider, memoryProvider } from './memory-provider.ts';
import { everyProvider } from './provider-cases.ts';

describe('a provider in memory', () => {
  const place = { ip: '192.0.2.1', port: 22, user: 'root', password: 'x', knownHosts: '' };
  const nowhere = { ...place, ip: '192.0.2.2' };
  let provider: MemoryProvider;
  beforeEach(() => {
    provider = memoryProvider();
    provider.host(nowhere.ip).away = 'Unreachable';
  });
  everyProvider(() => ({ provider, place, nowhere }));
});
