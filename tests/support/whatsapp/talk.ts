import type { AnyMessageContent, MiscMessageGenerationOptions, WAMessage } from '@whiskeysockets/baileys';
import { until } from '../until.ts';
import type { TestClient } from './client.ts';
import type { Handset, ReceivedMessage } from './handset.ts';

/** What tests of the library against the fixture ask again and again. */
export interface Talk {
  say(to: string, content: AnyMessageContent, options?: MiscMessageGenerationOptions): Promise<WAMessage>;
  /** the phone has the message */
  arrived(handset: Handset, id: string): Promise<ReceivedMessage>;
  /** every upsert of an id: stub and content, or the echo of an own message */
  upserts(id: string): WAMessage[];
  /** a message of the client reaches a status */
  status(id: string, wanted: number): Promise<unknown>;
}

export const textOf = (message: WAMessage): string | null | undefined =>
  message.message?.conversation ?? message.message?.extendedTextMessage?.text;

export function talk(client: TestClient): Talk {
  const upserts = (id: string) =>
    client.messages.filter(({ message }) => message.key.id === id).map(({ message }) => message);
  return {
    upserts,
    say: async (to, content, options) => (await client.sock.sendMessage(to, content, options))!,
    arrived: (handset, id) => until(`${handset.name} has ${id}`, () => handset.message(id), 10_000),
    // updates that come soon after the message are merged into it by the library
    status: (id, wanted) =>
      until(
        `${id} has status ${wanted}`,
        () =>
          client.updates.some(({ key, update }) => key.id === id && update.status === wanted) ||
          upserts(id).some((message) => message.status === wanted),
        10_000,
      ),
  };
}
