import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readSession } from '../../../adapters/sessions/bundle.ts';
import { ApiClient } from '../../../client/api-client.ts';
import type { Config } from '../../../config.ts';
import { UserError } from '../../../contracts/user-error.ts';
import { runningInstance } from '../../instance/urls.ts';
import { apply } from './apply.ts';

/** `fetch take` and `fetch give`: the words of the chat, said for the person in the chat of this terminal. */

const LOOK_MS = 500;

/** Returns what to tell. @throws UserError when the file is no session */
export async function take(config: Config, file: string, words: string): Promise<string> {
  const data = readFileSync(file);
  const { title } = await readSession(data);
  const client = new ApiClient(runningInstance(config));
  const thread = await client.consoleThread();
  const { id } = await client.upload(thread.id, basename(file), data);
  const answer = await answerTo(client, thread.id, `/take${words ? `: ${words}` : ''}`, [id]);
  return `${answer ?? `The session “${title}” waits for your yes: fetch chat.`}\n`;
}

interface Given {
  task: string | undefined;
  folder: string;
  out?: string;
}

/** Returns what to tell: the command that goes on. @throws UserError */
export async function give(config: Config, { task, folder, out }: Given): Promise<string> {
  const client = new ApiClient(runningInstance(config));
  const thread = await client.consoleThread();
  const answer = await answerTo(client, thread.id, `/give${task ? ` ${task}` : ''}`);
  const id = /\(attachment:(att_[A-Za-z0-9]{1,80})\)/.exec(answer ?? '')?.[1];
  if (!id) throw new UserError(answer ?? 'Something else is asked in that chat: fetch chat.');
  const data = await client.attachment(thread.id, id);
  if (out !== undefined) {
    writeFileSync(out, data, { mode: 0o600 });
    return `${resolve(out)} is written. On the other machine, in the folder of the project: fetch hand-over --apply FILE\n`;
  }
  const place = mkdtempSync(join(tmpdir(), 'fetch-give-'));
  try {
    const file = join(place, 'session.gz');
    writeFileSync(file, data, { mode: 0o600 });
    return await apply(file, folder);
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** What the chat answers; null when it asks something first. */
async function answerTo(client: ApiClient, thread: string, text: string, files: string[] = []): Promise<string | null> {
  const said = await client.say(thread, text, randomUUID(), { files });
  for (;;) {
    const { turns, items, pending_approvals: asked = [] } = await client.detail(thread);
    const turn = turns.find(({ id }) => id === said.turn_id);
    if (turn?.status !== 'in_progress')
      return (
        items.findLast((each) => each.kind === 'agent_message' && (!turn || each.turn_id === turn.id))?.detail ?? ''
      );
    if (asked.length > 0) return null;
    await pause(LOOK_MS);
  }
}
