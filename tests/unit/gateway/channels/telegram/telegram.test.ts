import type { Message, Update } from '@grammyjs/types';
import { expect, it } from 'vitest';
import { offerText } from '../../../../../src/domain/consent/kinds.ts';
import { english } from '../../../../../src/domain/texts/say.ts';
import { resultOf, TelegramApi, TelegramError } from '../../../../../src/gateway/channels/telegram/api.ts';
import { decode, meantForUs, storable } from '../../../../../src/gateway/channels/telegram/inbound/decode.ts';
import { offeredBy, write } from '../../../../../src/gateway/channels/telegram/outbound/compose.ts';
import {
  cutFormatted,
  type Formatted,
  formatted,
} from '../../../../../src/gateway/channels/telegram/outbound/entities.ts';
import { freePorts } from '../../../../support/app.ts';
import { type Fault, TelegramServer } from '../../../../support/telegram/server.ts';

/** Rules of the Telegram channel that need no server. */

const marked = ({ text, entities }: Formatted): string[] =>
  entities.map(({ type, offset, length }) => `${type}: ${text.slice(offset, offset + length)}`);

it('writes formatting as entities of the text that is shown', () => {
  expect(formatted('# Result\n\nIt is **very _good_**, see `a*b` and [the page](https://example.com).')).toEqual({
    text: 'Result\n\nIt is very good, see a*b and the page.',
    entities: [
      { type: 'bold', offset: 0, length: 6 },
      { type: 'bold', offset: 14, length: 9 },
      { type: 'italic', offset: 19, length: 4 },
      { type: 'code', offset: 29, length: 3 },
      { type: 'text_link', url: 'https://example.com', offset: 37, length: 8 },
    ],
  });
});

it('keeps code out of every other entity', () => {
  expect(marked(formatted('**one `two` three**'))).toEqual(['bold: one ', 'code: two', 'bold:  three']);
  expect(marked(formatted('> > quoted **twice**'))).toEqual(['blockquote: quoted twice', 'bold: twice']);
});

it('loses no word of what Telegram cannot show', () => {
  const { text } = formatted(
    '1. <think>a</think> List<int>\n2. *unbalanced and ~half\n   - [x] done\n\n|a|b|\n|-|-|\n|1|2|',
  );
  for (const word of ['<think>', 'List<int>', '*unbalanced', '~half', '☑ done', 'a │ b', '1 │ 2'])
    expect(text).toContain(word);
});

it.each(['', ' ', '\n\n', '`'.repeat(5_000), '> '.repeat(3_000), '[a](b)'.repeat(2_000), '\ud83d'])(
  'formats whatever comes (%#)',
  (markdown) => {
    for (const { text, entities } of cutFormatted(formatted(markdown), 4096)) {
      expect(text.length).toBeLessThanOrEqual(4096);
      for (const { offset, length } of entities) expect(offset + length).toBeLessThanOrEqual(text.length);
    }
  },
);

it('cuts between words and never within a character', () => {
  const parts = cutFormatted(formatted(`**${'family 👨‍👩‍👧‍👦 '.repeat(800).trim()}**`), 4096);
  expect(parts.length).toBeGreaterThan(1);
  for (const { text, entities } of parts) {
    expect(text).toMatch(/^(family|👨‍👩‍👧‍👦)/u);
    expect(text).toMatch(/(family|👨‍👩‍👧‍👦)$/u);
    expect(entities).toEqual([{ type: 'bold', offset: 0, length: text.length }]);
  }
});

it('makes a file of a text that nobody would read as messages', () => {
  const [part, ...others] = write({ kind: 'answer', body: 'word '.repeat(10_000), question: null }, 0);
  expect(others).toEqual([]);
  expect(part).toMatchObject({ kind: 'whole' });
  expect(part?.kind === 'whole' && part.caption.text.length).toBeLessThanOrEqual(1024);
});

it('says after an hour that a message is old, with the name of the channel', () => {
  const [part] = write({ kind: 'answer', body: 'hello', question: null }, 3 * 3_600_000);
  expect(part).toMatchObject({ text: '(written 3 h ago, while Telegram was away)\n\nhello' });
});

it('asks in the language of its chat, with buttons that mean the same', () => {
  const question = {
    id: 'call_1',
    kind: 'approval' as const,
    prompt: '¿Ejecuto este comando en demo?',
    options: [],
    number: 1,
    isWhole: false,
    evidence: '$ npm test',
    rest: 0,
    again: 'reminder' as const,
  };
  const [part] = write({ kind: 'question', body: '', question, language: 'es' }, 0);
  expect(part?.kind === 'text' && part.buttons?.inline_keyboard[0]?.map(({ text }) => text)).toEqual(['Sí', 'No']);
  expect(part?.kind === 'text' && part.text).toMatch(/^Sigo esperando tu respuesta:[\s\S]+«siempre»/);
  expect(offeredBy(question)).toEqual(['yes', 'no']);
});

it('has a button for a rule where a question offers one, which means the same when it is pressed', () => {
  const question = {
    id: 'call_1',
    kind: 'approval' as const,
    prompt: `Run this command in demo?\n${offerText({ label: '`npm test`', workspace: 'demo' })}`,
    options: [],
    number: 1,
    isWhole: false,
    evidence: '$ npm test',
    rest: 0,
    again: null,
  };
  const [part] = write({ kind: 'question', body: '', question }, 0);
  expect(part?.kind === 'text' && part.buttons?.inline_keyboard[0]?.map(({ text }) => text)).toEqual([
    'Yes',
    'No',
    'Always for this project',
  ]);
  expect(offeredBy({ ...question, rest: 1 })[2]).toBe('always for this project');
  expect(offeredBy({ ...question, prompt: 'Run this command in demo?', rest: 1 })[2]).toBe('more');
});

const message = (fields: object): Message =>
  ({
    message_id: 5,
    date: 1_700_000_000,
    chat: { id: 42, type: 'private', first_name: 'Ana' },
    from: { id: 42, is_bot: false, first_name: 'Ana' },
    ...fields,
  }) as unknown as Message;
const bot = { id: 7, username: 'fetch_bot' };
const meant = (fields: object): string | null =>
  meantForUs(decode(message({ chat: { id: -1, type: 'supergroup' }, ...fields }), bot.id), bot, () => null);

it('takes in a group what names the bot, whatever the case of letters, and nothing that only resembles its name', () => {
  const at = (offset: number, length: number, type = 'mention') => ({ entities: [{ type, offset, length }] });
  expect(meant({ text: '@Fetch_Bot, help', ...at(0, 10) })).toBe('help');
  expect(meant({ text: 'ask @fetch_bot now', ...at(4, 10) })).toBe('ask @fetch_bot now');
  expect(meant({ text: '@fetch_bots help', ...at(0, 11) })).toBeNull();
  expect(meant({ text: '@fetch_bot in code' })).toBeNull();
  expect(meant({ text: '/stop@FETCH_BOT', ...at(0, 15, 'bot_command') })).toBe('/stop');
  expect(meant({ text: '/stop@other_bot', ...at(0, 15, 'bot_command') })).toBeNull();
  expect(meant({ text: 'yes', reply_to_message: { message_id: 1, from: { id: 7, is_bot: true } } })).toBe('yes');
  expect(meant({ caption: '@fetch_bot look', caption_entities: [{ type: 'mention', offset: 0, length: 10 }] })).toBe(
    'look',
  );
});

it('keeps the addresses of links, and tells whose words a message has', () => {
  const text_link = { type: 'text_link', offset: 4, length: 4, url: 'https://example.com' };
  expect(decode(message({ text: 'see this 👍', entities: [text_link] }), 7).text).toBe(
    'see this (https://example.com) 👍',
  );
  expect(decode(message({ text: 'x', forward_origin: { type: 'user' } }), 7).ofOthers).toBe('forwarded');
  expect(decode(message({ text: 'x', via_bot: { id: 9 } }), 7).ofOthers).toBe('from another bot');
});

it.each([
  { offset: -4, length: 4 },
  { offset: 2, length: -1 },
  { offset: 3, length: 1e9 },
  { offset: 9e15, length: 4 },
  { offset: 5, length: 2 },
  { offset: 0, length: 5 },
  { offset: 1.5, length: 2 },
])('ignores an entity that is no part of its text: %o', (range) => {
  const entities = [
    { type: 'text_link', url: 'https://example.com', ...range },
    { type: 'mention', ...range },
    { type: 'bot_command', ...range },
  ];
  // the emoji has the units 4 and 5
  const { text } = decode(message({ text: 'look👍 here', entities }), 7);
  expect(text).toBe('look👍 here');
  expect(meant({ text: 'look👍 here', entities })).toBeNull();
});

it('writes addresses where their links end, in whatever order the entities come', () => {
  const link = (offset: number, length: number, url: string) => ({ type: 'text_link', offset, length, url });
  const entities = [link(4, 3, 'https://b.example'), link(0, 3, 'https://a.example')];
  expect(decode(message({ text: 'one two', entities }), 7).text).toBe(
    'one (https://a.example) two (https://b.example)',
  );
});

it('reads every kind of message, or says in a sentence why not', () => {
  const read = (fields: object) => {
    const { text, unreadable, file } = decode(message(fields), 7);
    return file?.kind ?? (text || (unreadable && english(unreadable)));
  };
  const location = { latitude: 52.5, longitude: 13.4 };
  expect(read({ location })).toBe('[location: 52.5, 13.4]');
  expect(read({ location: { ...location, live_period: 60 } })).toBe('[location at that moment: 52.5, 13.4]');
  expect(read({ location, venue: { location, title: 'Zoo', address: 'Hill 1' } })).toBe(
    '[location: Zoo, Hill 1, 52.5, 13.4]',
  );
  expect(read({ contact: { first_name: 'Bo', last_name: 'Li', phone_number: '+491' } })).toBe('[contact: Bo Li, +491]');
  expect(read({ poll: { question: 'Cake?', options: [{ text: 'yes' }, { text: 'no' }] } })).toBe(
    '[poll: Cake?, yes, no]',
  );
  expect(read({ dice: { emoji: '🎲', value: 4 } })).toBe('[dice: 🎲 4]');
  expect(read({ sticker: { file_id: 'x', emoji: '🦊' } })).toBe('[sticker: 🦊]');
  expect(read({ checklist: { title: 'Trip', tasks: [{ text: 'pack', completion_date: 1 }, { text: 'go' }] } })).toBe(
    '[checklist: Trip, pack (done), go]',
  );
  expect(
    read({ rich_message: { blocks: [{ type: 'paragraph', text: [{ type: 'bold', text: 'Hello' }, ' all'] }] } }),
  ).toBe('Hello  all');
  expect(read({ voice: { file_id: 'v', duration: 3 } })).toBe('audio');
  expect(read({ video_note: { file_id: 'n', duration: 3 } })).toBe('video');
  expect(read({ animation: { file_id: 'a' }, document: { file_id: 'a' } })).toBe('video');
  expect(read({ story: { id: 1 } })).toContain('cannot open stories');
  expect(read({ hologram: { file_id: 'h' } })).toContain('cannot read');
  // changes of the chat say nothing
  for (const fields of [
    { pinned_message: {} },
    { new_chat_title: 'x' },
    { forum_topic_closed: {} },
    { boost_added: {} },
  ])
    expect(read(fields)).toBeNull();
  expect(decode(message({ contact: { first_name: 'Bo', phone_number: '1' } }), 7).ofOthers).toBe('shared');
});

it('knows an update by its content, and stores nothing of business chats', () => {
  const key = (update: object) => storable({ update_id: 1, ...update } as unknown as Update)?.key;
  expect(key({ message: message({ text: 'a' }) })).toBe('42/5');
  expect(key({ edited_message: message({ text: 'a', edit_date: 9 }) })).toBe('42/5/edit/9');
  expect(key({ callback_query: { id: 'x', from: { id: 42 }, data: 'q/1', message: message({ text: 'a' }) } })).toBe(
    '42/5/press/42/q/1',
  );
  expect(key({ message: message({ text: 'a', business_connection_id: 'b' }) })).toBeUndefined();
});

it('tells a refusal, of which nothing was done, from an answer that says nothing', () => {
  const failure = (status: number, text: string) => {
    try {
      return resultOf('sendMessage', status, text);
    } catch (error) {
      return (error as TelegramError).failure;
    }
  };
  const refusal = { ok: false, error_code: 429, description: 'slow', parameters: { retry_after: 3 } };
  expect(failure(200, '{"ok":true,"result":1}')).toBe(1);
  expect(failure(429, JSON.stringify(refusal))).toEqual({
    kind: 'refused',
    code: 429,
    description: 'slow',
    retryAfter: 3,
  });
  expect(failure(413, '<html>Request Entity Too Large</html>')).toMatchObject({ kind: 'refused', code: 413 });
  for (const [status, text] of [
    [502, '<html>'],
    [200, '{"ok":tr'],
    [500, '{"ok":false,"error_code":500,"description":"Internal"}'],
    [403, '<html>a proxy</html>'],
  ] as const)
    expect(failure(status, text)).toEqual({ kind: 'unknown' });
  expect(new TelegramError('sendMessage', { kind: 'unknown' }, 'x').message).toBe("Telegram's sendMessage: x");
});

it('knows of each failed call whether it may have had an effect, and never names the token', async () => {
  const server = await TelegramServer.start();
  const [nobody] = await freePorts(1);
  const failure = async (api: TelegramApi, method = 'sendMessage') => {
    const error = await api.call(method, { chat_id: 1, text: 'x' }).then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(`${error?.stack} ${JSON.stringify(error)} ${String(error?.cause)}`).not.toContain('test-token');
    return error instanceof TelegramError ? error.failure.kind : error;
  };
  const api = new TelegramApi({ FETCH_TELEGRAM_API: server.env.FETCH_TELEGRAM_API! }, server.token);
  expect(await failure(api)).toBeNull();
  const faults: Fault[] = ['cut before', 'cut after', 'proxy error', 'half an answer'];
  for (const fault of faults) {
    server.fail('sendMessage', fault);
    expect(await failure(api), JSON.stringify(fault)).toBe('unknown');
  }
  server.fail('sendMessage', { refuse: 400, description: 'Bad Request' });
  expect(await failure(api)).toBe('refused');
  expect(await failure(new TelegramApi({ FETCH_TELEGRAM_API: `http://127.0.0.1:${nobody}` }, server.token))).toBe(
    'not sent',
  );
  expect(await failure(new TelegramApi({ FETCH_TELEGRAM_API: 'http://no-such-host.invalid' }, server.token))).toBe(
    'not sent',
  );
  expect(server.shown).toHaveLength(4);
  await api.close();
  await server.close();
});
