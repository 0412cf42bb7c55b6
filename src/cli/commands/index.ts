import type { Command } from '@commander-js/extra-typings';
import type { InspectInstallation } from '../doctor.ts';
import { changeCommands, type LoadBackup } from './change.ts';
import { loginCommand } from './login.ts';
import { operationCommands } from './operation.ts';
import { readCommands } from './read.ts';

/** Parts of commands that use the meta cluster itself, not the REST API. */
export interface MetaCluster {
  loadBackup: LoadBackup;
  inspect: InspectInstallation;
}

/** Returns the commands that use the REST API, in the order of `--help`. */
export const clientCommands = ({ loadBackup, inspect }: MetaCluster): readonly Command[] => [
  loginCommand().helpGroup('Start here:'),
  ...readCommands(inspect).map((command) => command.helpGroup('Read clusters:')),
  ...changeCommands(loadBackup).map((command) => command.helpGroup('Change clusters:')),
  ...operationCommands().map((command) => command.helpGroup('Operations:')),
];
