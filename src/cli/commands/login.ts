import { clientCommand } from '../client-command.ts';
import { connectionOptions } from '../options.ts';

export const loginCommand = () =>
  clientCommand('login', {
    usage: '',
    summary: 'Store the address of a server and your token',
    options: connectionOptions.omit({ region: true }),
    examples: [
      'kubectl create token alice | matryoshka login --server https://192.0.2.10:32443 --ca ~/.matryoshka/ca.crt',
    ],
    run: async (_args, options, io) =>
      (await import('../login.ts')).login({ ...options, region: undefined }, io),
  });
