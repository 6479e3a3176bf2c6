import type { Config } from '../../config.ts';
import { memoryLine } from '../../domain/chat/context/memory.ts';
import { allMemories, removeAnyMemories } from '../../store/owner/memories.ts';
import { withStore } from '../instance/servers/with-store.ts';

/** `fetch memory …`: what was remembered, for its owner, without a model. */

const write = (text: string): void => void process.stdout.write(`${text}\n`);

const asJson = ({ id, owner, body, sources, created_at }: Awaited<ReturnType<typeof allMemories>>[number]) => ({
  id,
  owner,
  text: body,
  sources,
  createdAt: created_at.toISOString(),
});

/** All of it as JSON, one object a line, so that another program can read it back. */
export const exportAll = (config: Config): Promise<void> =>
  withStore(config, 'fetch-memory', async ({ db }) => {
    for (const memory of await allMemories(db)) write(JSON.stringify(asJson(memory)));
  });

export const list = (config: Config, options: { json?: boolean }): Promise<void> =>
  withStore(config, 'fetch-memory', async ({ db }) => {
    const found = await allMemories(db);
    if (options.json) return write(JSON.stringify(found.map(asJson), null, 2));
    for (const memory of found) write(`${memoryLine(memory)}${memory.owner === 'owner' ? '' : `  [${memory.owner}]`}`);
    if (found.length === 0) write('Nothing is remembered.');
  });

export const forget = (config: Config, id: string | undefined, options: { all?: boolean }): Promise<void> =>
  withStore(config, 'fetch-memory', async ({ db }) => {
    if (id === undefined && !options.all) throw new Error('Name a memory, or say --all.');
    const gone = await removeAnyMemories(db, id ?? null);
    write(`Forgotten: ${gone.length}.`);
    if (gone.length === 0) process.exitCode = 1;
  });
