import { z } from 'zod';
import { FILE, SHORT, SWITCH } from '../options.ts';

/** Options that several commands share. */
export const connectionOptions = z.object({
  server: z.string().optional().describe('Address of the REST API; default: that of "matryoshka login"'),
  ca: z
    .string()
    .optional()
    .describe('File with the authority of the server’s certificate')
    .register(FILE, {}),
  tokenFile: z
    .string()
    .optional()
    .describe('File with your token; default: that of "matryoshka login"')
    .register(FILE, {}),
  config: z
    .string()
    .optional()
    .describe('File of "matryoshka login"; default: ~/.matryoshka/config.yaml')
    .register(FILE, {}),
  namespace: z
    .string()
    .optional()
    .describe('Namespace of the cluster; default: that of "matryoshka login", or default')
    .register(SHORT, { letter: 'n' }),
  region: z.string().optional().describe('Region of the cluster; default: found by the server'),
});

export const FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
export type Format = (typeof FORMATS)[number];

export const formatOption = {
  output: z
    .enum(FORMATS, { error: `is none of ${FORMATS.join(', ')}` })
    .default('table')
    .describe(`Output format: ${FORMATS.join(', ')}`)
    .register(SHORT, { letter: 'o' }),
};

const SECONDS_OF = { s: 1, m: 60, h: 3600 } as const;

/** Time such as `90s`, `30m` or `2h`, in seconds. */
export const duration = z
  .string()
  .regex(/^[1-9][0-9]{0,6}[smh]$/, { error: 'is not a time; write it like 90s, 30m or 8h' })
  .transform((text): number => {
    const unit = text.at(-1);
    return Number.parseInt(text, 10) * (unit === 's' || unit === 'm' || unit === 'h' ? SECONDS_OF[unit] : 1);
  });

/** Options of every command that requests an operation. */
export const requestOptions = {
  ...connectionOptions.shape,
  dryRun: SWITCH.default(false).describe('Print the plan; in a terminal, ask whether to carry it out'),
  yes: SWITCH.default(false).describe('Do not ask').register(SHORT, { letter: 'y' }),
  wait: SWITCH.default(false).describe('Wait until the operation ends, and show its progress'),
  timeout: duration.optional().describe('The longest wait, such as 30m; default: none'),
};
