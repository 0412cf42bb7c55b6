import { describe } from 'vitest';
import { everyInstaller } from './installer-cases.ts';
import { scriptedInstaller } from './scripted-installer.ts';

describe('the scripted installer', () => {
  const world = scriptedInstaller();
  everyInstaller(() => world);
});
