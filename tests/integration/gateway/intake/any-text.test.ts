import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { proto } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readLog } from '../../../../src/activities/task/run/folder.ts';
import { visible } from '../../../../src/domain/text/foreign-text.ts';
import { storableText } from '../../../../src/domain/text/storable.ts';
import { doing, storeLines } from '../../../../src/store/kennel/tasks/task-log.ts';
import { insertTask } from '../../../../src/store/kennel/tasks/tasks.ts';
import { saveGroups } from '../../../../src/store/whatsapp/chats.ts';
import { storeReceived } from '../../../../src/store/whatsapp/inbox.ts';
import { anyText } from '../../../support/any-text.ts';
import type { TestApp } from '../../../support/app.ts';
import { holds } from '../../../support/property.ts';
import { until } from '../../../support/until.ts';
import { anyMessage, kindsOfMessages } from '../../../support/whatsapp/any-message.ts';
import type { Contact } from '../../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../../support/whatsapp-app.ts';

/** Any text goes in on every way, is kept as it can be kept, and holds nothing up. */

let world: WhatsAppApp;
let app: TestApp;
let pages: Server;
let Ada: Contact;
let page = Buffer.alloc(0);
const heard: string[] = [];

beforeAll(async () => {
  world = await startWhatsAppApp((fixture) => {
    Ada = fixture.contact('Ada');
    return {
      WHATSAPP_NUMBER: 'dedicated',
      OWNER_PHONE_NUMBER: Ada.pn.split('@')[0]!,
      WHATSAPP_RATE_LIMIT: '1000',
      FETCH_AUTONOMY: 'autonomous',
    };
  });
  app = world.app;
  app.model.hear((body) => {
    const { messages } = JSON.parse(body) as { messages: Array<{ role: string; content: unknown }> };
    heard.push(
      ...messages.flatMap(({ role, content }) => (role === 'user' && typeof content === 'string' ? [content] : [])),
    );
  });
  pages = createServer(
    (_request, response) => void response.setHeader('content-type', 'text/plain; charset=utf-8').end(page),
  );
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
}, 180_000);
afterAll(async () => {
  pages?.close();
  await world?.close();
});

const onPage = (): string => `http://127.0.0.1:${(pages.address() as AddressInfo).port}/`;
const atRest = (thread: string): Promise<unknown> =>
  until(
    `nothing runs in ${thread}`,
    async () => (await app.detail(thread)).turns.every((turn) => turn.status !== 'in_progress'),
    30_000,
  );

describe('any text', () => {
  it('defect 7: is answered over HTTP and on the terminal, in a prompt, a word to a running turn and the fields of a thread', async () => {
    await holds(
      fc.asyncProperty(anyText, anyText, async (first, second) => {
        // a half of a pair is no JSON for the contract, and refused; what is not refused is kept
        const [prompt, steer] = [`p${first}`.toWellFormed(), `s${second}`.toWellFormed()];
        const refused = await app.request('POST', '/v1/threads', { system_prompt: `${first}\ud83d`, model: first });
        expect(refused.status).toBe(400);
        const thread = await app.thread({
          system_prompt: first.toWellFormed(),
          workspace: '/',
          task_id: second.toWellFormed(),
        });
        const started = await app.request('POST', `/v1/threads/${thread}/turns`, {
          prompt,
          input_summary: second.toWellFormed(),
        });
        expect(started.status).toBe(201);
        expect((await app.request('POST', `/v1/threads/${thread}/messages`, { text: steer })).status).toBe(202);
        await atRest(thread);
        const read = storableText(prompt).trim();
        expect(heard.some((text) => text.includes(read))).toBe(true);
        expect(
          (await app.request('GET', `/v1/threads/${encodeURIComponent(`${thread}${first.toWellFormed()}/`)}`)).status,
        ).toBeLessThan(500);
      }),
      { runs: 12, soak: 200 },
    );
  });

  it('of a model is taken the first time: what it thinks and says, its tools, their arguments and what they answer', async () => {
    await holds(
      fc.asyncProperty(anyText, anyText, async (said, found) => {
        page = Buffer.concat([Buffer.from(found, 'utf16le'), Buffer.from(found), Buffer.from([0, 0xff, 0xc0, 0])]);
        const thread = await app.thread();
        const turn = await app.turn(thread, [
          { think: said, say: `${said} `, call: [['report_progress', { message: `m${said}`.slice(0, 400) }]], pace: 1 },
          {
            call: [
              [said || 'x', { [said]: said }],
              ['report_progress', said],
            ],
          },
          {
            call: [
              ['web_fetch', { url: onPage() }],
              ['workflow_create', { name: `w${said}`.slice(0, 40), steps: ['status'] }],
            ],
          },
          { say: `${said}${'😀'.repeat(90)}$LAST`, pace: 1 },
        ]);
        expect(await app.ended(thread, turn)).toMatchObject({ status: 'completed' });
        // each step was asked for once: no answer was thrown away
        expect(app.model.asked(turn)).toBe(4);
        const { items } = await app.detail(thread);
        const last = items.findLast((item) => item.kind === 'agent_message')!;
        expect(last.detail).toContain('😀'.repeat(90));
        const streamed = (await app.events(thread)).filter(
          (event) => event.event === 'item.delta' && event.item_id === last.id,
        );
        expect(streamed.map((event) => event.payload.delta).join('')).toBe(last.detail);
      }),
      { runs: 8, soak: 100 },
    );
  });

  it('comes in from WhatsApp, as a message, a name, an id, a reaction, and the subject of a group', async () => {
    const { db } = app.store;
    const row = (messageId: string, content: proto.IMessage, notify: string) => ({
      account: 'default',
      chat: Ada.lid,
      participant: '',
      fromMe: false,
      messageId,
      content: Buffer.from(proto.Message.encode(content).finish()),
      attrs: { t: String(Math.floor(Date.now() / 1000)), sender_pn: Ada.pn, notify },
    });
    let n = 0;
    await holds(
      fc.asyncProperty(anyText, async (text) => {
        n += 1;
        const id = `3AANY${n}`;
        const target = { remoteJid: Ada.lid, id: `${text}x` };
        await storeReceived(db, [
          row(`${id}${text}`, { conversation: text }, text),
          row(`${id}R`, { reactionMessage: { key: target, text } }, `Ada ${text}`),
          row(
            `${id}${'long'.repeat(5_000)}`,
            { extendedTextMessage: { text, contextInfo: { stanzaId: text, quotedMessage: { conversation: text } } } },
            '',
          ),
          row(`${id}Z`, { conversation: `and this is number ${n}.` }, 'Ada'),
        ]);
        await saveGroups(db, 'default', [{ id: `${n}@g.us`, subject: text, participants: [] } as never], new Date());
      }),
      { runs: 20, soak: 200 },
    );
    await until(
      'every row is handled',
      async () => !(await db.selectFrom('wa_inbox').select('seq').where('handled_at', 'is', null).executeTakeFirst()),
      60_000,
    );
    for (let at = 1; at <= n; at++)
      await until(
        `the model has read number ${at}`,
        () => heard.some((text) => text.includes(`and this is number ${at}.`)),
        60_000,
      );
    const tried = await db.selectFrom('wa_inbox').select('seq').where('attempts', '>', 0).execute();
    expect(tried).toEqual([]);
    await Ada.send('an ordinary message');
    await until('the chat goes on', () => heard.some((text) => text.includes('an ordinary message')), 30_000);
  });

  it('in any field of any kind of WhatsApp message is handled the first time', async () => {
    const { db } = app.store;
    const seed = Math.floor(Date.now() / 86_400_000);
    const rows = Array.from({ length: kindsOfMessages() }, (_, kind) => ({
      account: 'default',
      chat: Ada.lid,
      participant: '',
      fromMe: false,
      messageId: `3AKIND${kind}`,
      content: anyMessage(kind, seed + kind),
      attrs: { t: String(Math.floor(Date.now() / 1000)), sender_pn: Ada.pn, notify: 'Ada' },
    }));
    await storeReceived(db, rows);
    await until(
      'every row is handled',
      async () => !(await db.selectFrom('wa_inbox').select('seq').where('handled_at', 'is', null).executeTakeFirst()),
      90_000,
    );
    // a file counts its one attempt before it is loaded
    const tried = await db.selectFrom('wa_inbox').select('message_id').where('attempts', '>', 1).execute();
    expect({ seed, tried }).toEqual({ seed, tried: [] });
  });

  it('in the log of a container is stored or passed over, and so are numbers that no column holds', async () => {
    const { db } = app.store;
    const thread = await app.thread();
    const { chat_id } = await db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    const folder = mkdtempSync(join(tmpdir(), 'fetch-log-'));
    const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(2 ** 31, 2 ** 53, 2 ** 63, 1e300, -1, 0.5, 7));
    const at = fc.oneof(
      fc.constantFrom('2026-11-21T08:05:00Z', '-271821-04-20T00:00:00Z', '+275760-09-13T00:00:00Z', 'today'),
      anyText,
    );
    const anything = fc.oneof(anyText, number, fc.constantFrom(null, [], {}));
    const type = fc.constantFrom(
      'started',
      'session',
      'text',
      'tool',
      'plan',
      'question',
      'permission',
      'settled',
      'usage',
      'note',
      'ended',
      'other',
    );
    const wild = fc.record(
      {
        seq: number,
        step: number,
        at,
        type,
        title: anything,
        text: anything,
        id: anything,
        question: anything,
        options: anything,
        level: anything,
        line: anything,
      },
      { requiredKeys: [] },
    );
    const seq = { now: 0 };
    try {
      await holds(
        fc.asyncProperty(fc.array(wild, { maxLength: 8 }), anyText, async (lines, text) => {
          seq.now += 10;
          const head = { at: '2026-11-21T08:05:00Z', step: 1 };
          const good = [
            { ...head, seq: seq.now, type: 'text', messageId: text, text },
            {
              ...head,
              seq: seq.now + 1,
              type: 'tool',
              id: text,
              title: `${text}${'😀'.repeat(150)}`,
              kind: text,
              status: 'completed',
              detail: text,
              paths: [text],
            },
            { ...head, seq: seq.now + 2, type: 'note', level: 'warn', text: `${'x'.repeat(279)}😀${text}` },
            { ...head, seq: seq.now + 3, type: 'question', id: text, question: text, options: [text] },
          ];
          writeFileSync(
            join(folder, 'log.ndjson'),
            `${[...lines.map((line) => JSON.stringify(line)), '{"seq":1e999}', 'null', ...good.map((line) => JSON.stringify(line))].join('\n')}\n`,
          );
          const id = `tsk_${seq.now}`;
          const about = {
            goal: text,
            agent: 'practice',
            harness: 'practice' as const,
            host: 'h',
            workspace: text,
            worktree: true,
            timeout_ms: 1,
          };
          const task = (await insertTask(db, { ...about, id, chat_id, call_id: id, workflow_id: id }))!;
          const read = await readLog(folder, 0);
          const news = await storeLines(db, task, read.lines);
          expect(news.filter((line) => line.seq >= seq.now && line.seq < seq.now + 4).length).toBeGreaterThanOrEqual(4);
          expect(read.lines.map(doing).every((line) => line === null || typeof line === 'string')).toBe(true);
          const stored = await db
            .selectFrom('task_log')
            .select('line')
            .where('task_id', '=', id)
            .where('seq', '=', seq.now)
            .executeTakeFirstOrThrow();
          expect(stored.line).toMatchObject({
            text: storableText(visible(text)),
            messageId: storableText(visible(text)),
          });
        }),
        { runs: 25, soak: 500 },
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
