import type { Message, Update } from '@grammyjs/types';
import { expect, it } from 'vitest';
import { offerText } from '../../../../../src/domain/consent/kinds.ts';
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
    reminder: false,
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
