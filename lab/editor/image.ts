import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from '../artifacts/progress.ts';
import { giveAuthority } from '../hosts/authority.ts';
import { buildImage } from '../hosts/image.ts';

/** Port of the editor. */
export const EDITOR_PORT = 8888;

/** Builds an editor for Workspaces of the lab, and returns its tag. */
export async function editorImage(say: Say): Promise<string> {
  const context = await mkdtemp(join(tmpdir(), 'matryoshka-editor-'));
  try {
    await cp(join(import.meta.dirname, 'Dockerfile'), join(context, 'Dockerfile'));
    await giveAuthority(context);
    return await buildImage('matryoshka-lab-editor', context, say);
  } finally {
    await rm(context, { recursive: true, force: true });
  }
}
