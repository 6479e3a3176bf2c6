import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { GroupNotes } from '../../domain/chat/groups.ts';
import { groupFolders, saveGroupNotes } from '../../store/chats/groups.ts';
import type { KennelDeps } from '../activity-deps.ts';

/** The first that is there counts. */
const FILES = ['AGENTS.md', 'CLAUDE.md'] as const;
/** A larger file is no note. */
const MOST_BYTES = 256 * 1024;
/** Characters that a prompt shows. */
const SHOWN = 4_000;

/** Reads again what stands in the folders of groups on this host, for the prompts of their chats. */
export async function readGroupNotes({ db, host }: Pick<KennelDeps, 'db' | 'host'>): Promise<void> {
  for (const { channel, address, path, notes } of await groupFolders(db, host)) {
    const now = await notesIn(path);
    if (now?.digest !== notes?.digest || now?.file !== notes?.file) await saveGroupNotes(db, { channel, address }, now);
  }
}

/** The notes in a folder; null when there are none. */
export async function notesIn(folder: string): Promise<GroupNotes | null> {
  for (const file of FILES) {
    const text = await plainFile(join(folder, file));
    if (text !== null)
      return {
        file,
        text: text.slice(0, SHOWN).toWellFormed(),
        digest: createHash('sha256').update(text).digest('hex'),
      };
  }
  return null;
}

/** An agent may have put a link there, which would lead out of the folder: only a plain file is read. */
async function plainFile(path: string): Promise<string | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => null);
  if (!file) return null;
  try {
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > MOST_BYTES) return null;
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
