import { z } from 'zod';
import type { OwnerAction, OwnerChat, OwnerDone } from '../../contracts/owner.ts';
import type { Fields } from '../http/endpoint.ts';

/** Parts of several answers. */

export const chatFields = z
  .object({
    thread_id: z.string(),
    channel: z.string(),
    name: z.string(),
    group: z.boolean(),
  } satisfies Fields<OwnerChat>)
  .meta({ id: 'OwnerChat' });

export const actionFields = z
  .object({
    name: z.enum(['stop', 'pause', 'resume', 'undo', 'redo', 'again', 'seen', 'run', 'remove']),
    method: z.enum(['POST', 'DELETE']),
    path: z.string(),
    body: z.record(z.string(), z.unknown()).nullable(),
  } satisfies Fields<OwnerAction>)
  .describe('A request that a button makes')
  .meta({ id: 'OwnerAction' });

/** The name of a chat that is gone, where a row outlived it. */
export const lostChat = (threadId: string): OwnerChat => ({
  thread_id: threadId,
  channel: 'api',
  name: 'A chat that is gone',
  group: false,
});

export const post = (name: OwnerAction['name'], path: string, body: OwnerAction['body'] = null): OwnerAction => ({
  name,
  method: 'POST',
  path,
  body,
});

/** Repeats the text in the chat. */
export const sayAgain = (threadId: string, text: string): OwnerAction =>
  post('again', `/v1/threads/${threadId}/messages`, { text });

const doneFields = z.object({ message: z.string() } satisfies Fields<OwnerDone>).meta({ id: 'OwnerDone' });
export const doing = (what: string) => ({ schema: doneFields, what });

export const usdOf = (micro: number): number => micro / 1e6;
export const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;
