import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { script } from '../app.ts';
import { standInFfmpeg } from '../ffmpeg.ts';
import { until } from '../until.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../whatsapp-app.ts';
import type { Contact } from './contact.ts';

export const RATE_LIMIT = 12;
/** what every voice note says */
export const HEARD = 'please list the workflows';

/** A program with the command line of whisper.cpp that always hears the same. */
function whisper(folder: string): Record<string, string> {
  const bin = join(folder, 'whisper-cli');
  const model = join(folder, 'ggml-test.bin');
  const lines = [
    '#!/bin/sh',
    'while [ $# -gt 0 ]; do [ "$1" = "-of" ] && out="$2"; shift; done',
    `[ -n "$out" ] && printf ' %s\\n' "${HEARD}" > "$out.txt"`,
    'exit 0',
  ];
  writeFileSync(bin, lines.join('\n'));
  chmodSync(bin, 0o755);
  writeFileSync(model, 'model');
  return { WHISPER_BIN: bin, WHISPER_MODEL: model, PATH: standInFfmpeg(folder).path };
}

/**
 * For a whole test file: an instance that is linked to a local WhatsApp on a number of its own, and people who may
 * write to it, each in a chat of their own, so that no test waits for another. The first of them is the owner.
 */
export function inward<Name extends string>(names: readonly Name[]) {
  let world: WhatsAppApp;
  let stranger: Contact;
  const people = {} as Record<Name, Contact>;
  const folder = mkdtempSync(join(tmpdir(), 'fetch-whisper-'));

  beforeAll(async () => {
    world = await startWhatsAppApp((fixture) => {
      for (const name of names) people[name] = fixture.contact(name);
      stranger = fixture.contact('Stranger');
      const number = (jid: string) => jid.split('@')[0]!;
      const [owner, ...others] = names.map((name) => people[name].pn);
      return {
        WHATSAPP_NUMBER: 'dedicated',
        OWNER_PHONE_NUMBER: number(owner!),
        TRUSTED_PHONE_NUMBERS: [...others, fixture.account.pn].map(number).join(','),
        WHATSAPP_RATE_LIMIT: String(RATE_LIMIT),
        WHATSAPP_POLLS: 'true',
        WHATSAPP_PER_MINUTE: '10000',
        ...whisper(folder),
      };
    });
  }, 120_000);
  afterAll(async () => {
    await world?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const db = () => world.app.store.db;
  const verdicts = async (messageId: string) =>
    (await db().selectFrom('wa_inbox').select('verdict').where('message_id', '=', messageId).execute()).map(
      (row) => row.verdict,
    );
  const address = async (who: Contact) =>
    (await db().selectFrom('wa_contacts').select('chat_address').where('lid', '=', who.lid).executeTakeFirstOrThrow())
      .chat_address;
  return {
    get app() {
      return world.app;
    },
    get fixture() {
      return world.fixture;
    },
    get stranger() {
      return stranger;
    },
    people,
    db,
    verdicts,
    address,
    shown: (who: Contact, text: string | RegExp) =>
      until(`${who.name} is shown ${text}`, () => who.received.find(shows(text)), 30_000),
    asked: (text: string) => world.app.model.requests().filter((request) => request.user.includes(text)),
    verdictOf: (id: string) => until(`${id} is handled`, async () => (await verdicts(id))[0], 20_000),
    turnsOf: async (who: Contact) =>
      await db()
        .selectFrom('turns')
        .innerJoin('threads', 'threads.id', 'turns.thread_id')
        .innerJoin('chats', 'chats.id', 'threads.chat_id')
        .innerJoin('inbox', 'inbox.turn_id', 'turns.id')
        .select(['turns.id', 'turns.input_summary', 'turns.status'])
        .where('chats.address', '=', await address(who))
        .orderBy('turns.created_at')
        .execute(),
    unhandled: async () =>
      (await db().selectFrom('wa_inbox').select('seq').where('handled_at', 'is', null).execute()).length,
  };
}

export const shows = (text: string | RegExp) => (each: { shown: { text: string } }) =>
  typeof text === 'string' ? each.shown.text.includes(text) : text.test(each.shown.text);

/** A message that makes the model ask, and then say what was answered. */
export const ask = (question: string, options?: string[]) =>
  script([{ call: [['ask_user', { question, ...(options && { options }) }]] }, { say: 'You said: $LAST' }]);
