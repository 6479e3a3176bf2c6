import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { afterAbsence, firstPart, joinTexts, partLimits, ready } from '../../../../../src/domain/chat/burst.ts';
import { type Addressing, addressed, triggerProblem, withoutTrigger } from '../../../../../src/domain/chat/trigger.ts';
import { reactionAnswer } from '../../../../../src/domain/consent/reactions.ts';
import { sayWhole } from '../../../../../src/domain/texts/again.ts';
import { english, sayIn } from '../../../../../src/domain/texts/say.ts';
import { backoffMs, type Close, reactionTo } from '../../../../../src/domain/whatsapp/disconnect.ts';
import {
  canonicalUser,
  isBroadcast,
  isGroup,
  isNewsletter,
  isStatus,
  phoneOf,
  roleOf,
  samePerson,
} from '../../../../../src/domain/whatsapp/identity.ts';
import { ageNote } from '../../../../../src/gateway/channels/shared/asking.ts';
import { admitInWindow } from '../../../../../src/gateway/channels/shared/rate-limit.ts';
import { holds } from '../../../../support/property.ts';

const HOUR = 3_600_000;

describe('the reaction to a disconnect code', () => {
  const close = (code: number | undefined, more: Partial<Close> = {}): Close => ({
    code,
    paired: true,
    consecutive: 1,
    versionTried: false,
    ...more,
  });
  const backoff = { kind: 'reconnect', immediately: false, minimumMs: 0 };

  it.each<[string, Close, object]>([
    ['515 restarts at once', close(515), { kind: 'reconnect', immediately: true, minimumMs: 0 }],
    ['515 for the fourth time in a row backs off', close(515, { consecutive: 4 }), backoff],
    ['408 of a paired account backs off', close(408), backoff],
    [
      '408 without pairing waits for a person to ask for a new code',
      close(408, { paired: false }),
      { kind: 'stop', state: 'disconnected', needs: 'pairing' },
    ],
    ['428 backs off', close(428), backoff],
    ['503 backs off from 30 s', close(503), { kind: 'reconnect', immediately: false, minimumMs: 30_000 }],
    ['500 backs off', close(500), backoff],
    ['500 keeps trying however often', close(500, { consecutive: 40 }), backoff],
    ['440 waits for the lease', close(440), { kind: 'stop', state: 'disconnected', needs: 'lease' }],
    ['401 needs pairing', close(401), { kind: 'stop', state: 'disconnected', needs: 'pairing' }],
    [
      '402 stops until the ban has passed, and ten minutes more',
      close(402, { expiresInMs: HOUR }),
      { kind: 'stop', state: 'error', needs: 'person', untilMs: HOUR + 600_000 },
    ],
    ['402 without an end stops for a person', close(402), { kind: 'stop', state: 'error', needs: 'person' }],
    ['403 stops for a person', close(403), { kind: 'stop', state: 'error', needs: 'person' }],
    ['405 tries a newer version once', close(405), { kind: 'reconnect', immediately: true, minimumMs: 0 }],
    [
      '405 after that needs an upgrade',
      close(405, { versionTried: true }),
      { kind: 'stop', state: 'error', needs: 'upgrade' },
    ],
    ...[406, 409, 411].map((code): [string, Close, object] => [
      `${code} stops for a person`,
      close(code),
      { kind: 'stop', state: 'error', needs: 'person' },
    ]),
    ...[400, 413, 414, 415, 418, 501].flatMap((code): [string, Close, object][] => [
      [`${code} backs off five times`, close(code, { consecutive: 5 }), backoff],
      [
        `${code} then stops for a person`,
        close(code, { consecutive: 6 }),
        { kind: 'stop', state: 'error', needs: 'person' },
      ],
    ]),
    ['an unknown code backs off', close(599), backoff],
    [
      'a server that cannot be reached is tried every 15 s, before pairing, too',
      { ...close(408, { unreached: 'ECONNREFUSED' }), paired: false },
      { ...backoff, mostMs: 15_000 },
    ],
    [
      'a server that is not WhatsApp backs off',
      close(undefined, { foreign: 'The server is not WhatsApp: its certificate is for another key.' }),
      backoff,
    ],
    ['an error of our own backs off', close(undefined), backoff],
  ])('%s', (_, closed, expected) => {
    const { say, ...reaction } = reactionTo(closed);
    expect(reaction).toEqual(expected);
    expect(say(english)).toMatch(/^[A-Z].*\.$/);
    expect(say(sayIn('de'))).toMatch(/^[A-Z].*[.)]$/);
    expect(sayWhole(say(english), 'link.', sayIn('de'))).toBe(say(sayIn('de')));
  });

  it('says after five bad sessions in a row what a person can do', () => {
    expect(reactionTo(close(500, { consecutive: 5 })).say(english)).toContain('link it again on my page');
    expect(reactionTo(close(500, { consecutive: 4 })).say(english)).not.toContain('link it again on my page');
  });

  it('a pairing that fails says which way it failed, and what to do', () => {
    const unpaired = (code: number | undefined, more: Partial<Close> = {}) =>
      reactionTo({ ...close(code!), paired: false, ...more }).say(english);
    const says = [
      [unpaired(408, { unscanned: true }), /not scanned .* in time\. Ask for a new one on my page/],
      [unpaired(408), /did not answer in time: .*try again on my page/],
      [unpaired(401), /refused to link this device.*try again on my page/],
      [unpaired(405, { versionTried: true }), /no longer accepts this version.*upgrade/],
      [unpaired(408, { unreached: 'ECONNREFUSED' }), /cannot be reached from this machine: the connection was refused/],
    ] as const;
    for (const [say, expected] of says) expect(say).toMatch(expected);
    expect(new Set(says.map(([say]) => say)).size).toBe(says.length);
  });

  it('waits with full jitter, doubling from 2 s to 5 min, never less than the minimum', () => {
    expect([1, 2, 3].map((attempt) => backoffMs(attempt, () => 0.5))).toEqual([1_000, 2_000, 4_000]);
    expect(backoffMs(5_000, () => 0.999999)).toBeLessThanOrEqual(300_000);
    expect(backoffMs(1, () => 0, 30_000)).toBe(30_000);
    expect(backoffMs(40, () => 0.999, 0, 15_000)).toBeLessThanOrEqual(15_000);
    holds(
      fc.property(
        fc.integer({ min: -1, max: 2_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.constantFrom(0, 30_000),
        (attempt, random, minimum) => {
          const wait = backoffMs(attempt, () => random, minimum);
          expect(wait).toBeGreaterThanOrEqual(minimum);
          expect(wait).toBeLessThanOrEqual(300_000);
        },
      ),
    );
  });
});

describe('identity', () => {
  it.each([
    ['491701234567:12@s.whatsapp.net', '491701234567@s.whatsapp.net'],
    ['491701234567_1:12@s.whatsapp.net', '491701234567@s.whatsapp.net'],
    ['491701234567@c.us', '491701234567@s.whatsapp.net'],
    ['1234567890:3@lid', '1234567890@lid'],
    ['1234567890:99@hosted.lid', '1234567890@lid'],
    ['4917-1600000000@g.us', '4917-1600000000@g.us'],
    ['status@broadcast', 'status@broadcast'],
  ])('the user of %s is %s', (jid, user) => expect(canonicalUser(jid)).toBe(user));

  it('tells groups, broadcasts, newsletters and the status feed from people', () => {
    const kinds = (jid: string) => [isGroup(jid), isBroadcast(jid), isNewsletter(jid), isStatus(jid)];
    expect(kinds('1@g.us')).toEqual([true, false, false, false]);
    expect(kinds('1@broadcast')).toEqual([false, true, false, false]);
    expect(kinds('status@broadcast')).toEqual([false, true, false, true]);
    expect(kinds('1@newsletter')).toEqual([false, false, true, false]);
    expect(kinds('1@lid')).toEqual([false, false, false, false]);
  });

  it.each([
    ['+49 170 1234567', '491701234567'],
    ['+49 (0)170 / 123-45.67', '491701234567'],
    ['0049 170 1234567', '491701234567'],
    ['\u202a+1 (555) 010-9999\u202c', '15550109999'],
    ['491701234567@s.whatsapp.net', '491701234567'],
    ['0170 1234567', null],
    ['12345', null],
    ['+49 170 CALLME', null],
    ['+4917012345678901', null],
    ['491701234567, 15550109999', null],
    ['123@lid', null],
    ['+', null],
    ['', null],
  ])('the phone number in %j is %j', (text, phone) => expect(phoneOf(text)).toBe(phone));

  it('knows a person by either address, and never by an unknown one', () => {
    expect(samePerson({ lid: '1:3@lid' }, { lid: '1@lid', pn: '49170@s.whatsapp.net' })).toBe(true);
    expect(samePerson({ pn: '49170:0@s.whatsapp.net' }, { lid: '1@lid', pn: '49170@c.us' })).toBe(true);
    expect(samePerson({ lid: '1@lid', pn: '49170@s.whatsapp.net' }, { lid: '2@lid', pn: '49170@s.whatsapp.net' })).toBe(
      false,
    );
    expect(samePerson({ lid: '49170@lid' }, { pn: '49170@s.whatsapp.net' })).toBe(false);
    expect(samePerson({ lid: null }, { lid: undefined, pn: '' })).toBe(false);
    expect(samePerson({ lid: '@lid' }, { lid: '@lid' })).toBe(false);
  });

  it('gives the role by either address of the lists', () => {
    const known = { owner: ['1@lid', '491701234567@s.whatsapp.net'], trusted: ['2@lid', '+1 555 010 9999'] };
    expect(roleOf({ lid: '1:4@lid' }, known)).toBe('owner');
    expect(roleOf({ pn: '491701234567:2@s.whatsapp.net' }, known)).toBe('owner');
    expect(roleOf({ lid: '9@lid', pn: '15550109999@s.whatsapp.net' }, known)).toBe('trusted');
    expect(roleOf({ lid: '3@lid' }, known)).toBe('stranger');
    expect(roleOf({}, { owner: [''], trusted: ['nonsense'] })).toBe('stranger');
  });
});

describe('when a message is for us', () => {
  const message: Addressing = {
    chat: 'direct',
    number: 'shared',
    mentionsUs: false,
    quotesUs: false,
    text: 'hello',
    voice: false,
    trigger: '@fetch',
  };
  it.each<[string, Partial<Addressing>, boolean, string]>([
    ['the chat with oneself needs no trigger', { chat: 'self' }, true, 'hello'],
    ['and loses it where it is written', { chat: 'self', text: '@Fetch stop' }, true, 'stop'],
    ['people on a shared number talk to its owner', {}, false, 'hello'],
    ['until they write the trigger', { text: '@FETCH, fix it' }, true, 'fix it'],
    ['behind invisible marks too', { text: '\u2068@fetch\u2069 fix it' }, true, 'fix it'],
    ['on a line of its own too', { text: ' @fetch\nfix it' }, true, 'fix it'],
    ['alone too', { text: '@fetch' }, true, ''],
    ['but not inside a sentence', { text: 'ask @fetch to fix it' }, false, 'ask @fetch to fix it'],
    ['nor as the beginning of another word', { text: '@fetcher fix it' }, false, '@fetcher fix it'],
    ['nor of another name', { text: '@fetch-bot fix it' }, false, '@fetch-bot fix it'],
    ['nor of an address', { text: '@fetch.com is down' }, false, '@fetch.com is down'],
    ['a quote of what we said calls us', { quotesUs: true }, true, 'hello'],
    [
      'a mention of a shared number names its owner',
      { chat: 'group', mentionsUs: true, text: '@491701234567 hello' },
      false,
      '@491701234567 hello',
    ],
    ['a dedicated number is written to directly', { number: 'dedicated' }, true, 'hello'],
    ['but not in groups', { number: 'dedicated', chat: 'group' }, false, 'hello'],
    [
      'there a mention counts',
      { number: 'dedicated', chat: 'group', mentionsUs: true, text: '\u2068@491701234567\u2069 hello' },
      true,
      'hello',
    ],
    [
      'wherever it stands',
      { number: 'dedicated', chat: 'group', mentionsUs: true, text: 'hello @491701234567' },
      true,
      'hello @491701234567',
    ],
    [
      'and keeps others that are mentioned',
      { number: 'dedicated', chat: 'group', mentionsUs: true, text: '@15550109999 and @491701234567: hi' },
      true,
      '@15550109999 and @491701234567: hi',
    ],
    ['there a quote counts', { number: 'dedicated', chat: 'group', quotesUs: true }, true, 'hello'],
    ['there the trigger counts', { number: 'dedicated', chat: 'group', text: '@fetch hello' }, true, 'hello'],
    ['a voice note counts where text needs no trigger', { number: 'dedicated', voice: true, text: '' }, true, ''],
    ['and in the chat with oneself', { chat: 'self', voice: true, text: '' }, true, ''],
    ['elsewhere only with a quote', { chat: 'group', number: 'dedicated', voice: true, text: '' }, false, ''],
    ['of what we said', { chat: 'group', number: 'dedicated', voice: true, quotesUs: true, text: '' }, true, ''],
    ['whatever its transcript begins with', { voice: true, text: '@fetch hello' }, false, '@fetch hello'],
    ['a trigger is no pattern', { trigger: '.*', text: 'hello' }, false, 'hello'],
    ['an empty trigger matches nothing', { trigger: ' ', text: 'hello' }, false, 'hello'],
  ])('%s', (_, more, expected, text) =>
    expect(addressed({ ...message, ...more })).toEqual({ addressed: expected, text }),
  );
});

describe('the trigger', () => {
  // a trigger is trimmed, and no word of a person is longer
  const printable = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
    .map((text) => text.trim())
    .filter((text) => text !== '' && triggerProblem(text) === null);

  it('calls at the beginning of a message, whatever characters it has', () => {
    holds(
      fc.property(printable, fc.constantFrom(' ', '\n', ', ', ': '), (trigger, between) => {
        expect(withoutTrigger(`${trigger}${between}hello`, trigger)?.trim()).toBe('hello');
        expect(withoutTrigger(`${trigger}`, trigger)).toBe('');
        expect(withoutTrigger(`hello ${trigger}`, trigger)).toBeNull();
      }),
      {
        examples: ['@my-bot', '@a.b*c', '(bot)', '[x]', '^go$', 'a|b', '\\d+', '{2}', '/bot', '@böt', '🤖'].map(
          (trigger): [string, string] => [trigger, ' '],
        ),
      },
    );
  });

  it.each([
    ['an accent of two characters', 'cafe\u0301 hello', 'caf\u00e9'],
    ['an emoji that the phone shows in colour', '❤\ufe0f hello', '❤'],
    ['two words, with more between them', 'Hey  Fetch, hello', 'hey fetch'],
    ['an emoji in another colour', '👍🏽 hello', '👍'],
    ['an emoji, and a word right after it', '🤖hello', '🤖'],
    ['a comma of Chinese', '@fetch，hello', '@fetch'],
    ['a comma of Arabic', '@بوت، hello', '@بوت'],
  ])('is found with %s', (_, text, trigger) => expect(withoutTrigger(text, trigger)?.trim()).toBe('hello'));

  it.each([
    ['@fetch', '今日の天気は'],
    ['@fetch', 'สวัสดี'],
    ['ボット', '今日の天気'],
    ['@小助手', '帮我查'],
  ])('is found where a language has no spaces: %s%s', (trigger, text) =>
    expect(withoutTrigger(`${trigger}${text}`, trigger)).toBe(text),
  );

  it.each([
    ['ボット', 'ボットネットは'],
    ['👩', '👩‍💻 hello'],
    ['@بوت', '@بوت\u200cها hello'],
    ['@fetch', '@fetché hello'],
  ])('%s is not the beginning of another word or emoji: %s', (trigger, text) =>
    expect(withoutTrigger(text, trigger)).toBeNull(),
  );

  it.each(['\u200b', '\u202e@bot', '@b\u0007t', 'a\nb', 'x'.repeat(61), 'yes', 'No', 'stop', '/help', '2', '👍'])(
    'that would never match, or hides an answer or a command, is refused: %j',
    (trigger) => expect(triggerProblem(trigger)).toMatch(/^must/),
  );
});

describe('a reaction as an answer', () => {
  const tones = ['', '\u{1f3fb}', '\u{1f3fc}', '\u{1f3fd}', '\u{1f3fe}', '\u{1f3ff}'];
  it('does not depend on skin, presentation or gender', () => {
    holds(
      fc.property(fc.constantFrom(...tones), fc.constantFrom('', '\ufe0f', '\ufe0e'), (tone, selector) => {
        expect(reactionAnswer(`👍${tone}${selector}`)).toBe('yes');
        expect(reactionAnswer(`👎${tone}${selector}`)).toBe('no');
        expect(reactionAnswer(`🙅${tone}\u200d♀${selector}`)).toBe('no');
      }),
    );
    expect(['✅', '✔️', '👌🏿', '🆗'].map(reactionAnswer)).toEqual(['yes', 'yes', 'yes', 'yes']);
    expect(['❌', '✖️', '🚫', '🛑'].map(reactionAnswer)).toEqual(['no', 'no', 'no', 'no']);
  });

  it('is nothing when the reaction was removed or means something else', () => {
    expect(['', '❤️', '😂', '🙏', '🎉', 'yes', '👍👎'].map(reactionAnswer)).toEqual(Array(7).fill(null));
    holds(fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => void expect(reactionAnswer(text)).toBeNull()));
  });
});

describe('the rate limit of an author', () => {
  it('admits the limit, then says when the next is admitted', () => {
    let window: number[] = [];
    for (const now of [0, 10, 20]) {
      const step = admitInWindow(window, now, 3, 1_000);
      expect(step).toMatchObject({ admitted: true, retryAt: now });
      window = step.window;
    }
    expect(admitInWindow(window, 30, 3, 1_000)).toEqual({ admitted: false, window: [0, 10, 20], retryAt: 1_000 });
    expect(admitInWindow(window, 1_000, 3, 1_000)).toEqual({ admitted: true, window: [10, 20, 1_000], retryAt: 1_000 });
    expect(admitInWindow([], 5, 0, 1_000)).toEqual({ admitted: false, window: [], retryAt: 1_005 });
  });

  it('never admits more than the limit in any window, and keeps its word about when it will', () => {
    holds(
      fc.property(fc.array(fc.nat(400), { maxLength: 80 }), fc.integer({ min: 1, max: 6 }), (gaps, limit) => {
        const [admitted, span]: [number[], number] = [[], 1_000];
        let [window, now]: [number[], number] = [[], 0];
        for (const gap of gaps) {
          now += gap;
          const step = admitInWindow(window, now, limit, span);
          if (step.admitted) admitted.push(now);
          else expect(admitInWindow(step.window, step.retryAt, limit, span).admitted).toBe(true);
          window = step.window;
          expect(window.length).toBeLessThanOrEqual(limit);
          expect(admitted.filter((at) => at > now - span).length).toBeLessThanOrEqual(limit);
        }
      }),
    );
  });

  it('does not lock an author out when the clock was set back', () => {
    expect(admitInWindow([5_000, 5_001], 100, 2, 1_000).retryAt).toBe(1_100);
  });
});

describe('a burst', () => {
  it('is one turn after a second of quiet, or three seconds after its first message', () => {
    expect(ready([], 5)).toBe(false);
    expect(ready([{ at: 0 }], 999)).toBe(false);
    expect(ready([{ at: 0 }], 1_000)).toBe(true);
    expect(ready([{ at: 0 }, { at: 900 }, { at: 1_800 }, { at: 2_700 }], 2_999)).toBe(false);
    expect(ready([{ at: 2_700 }, { at: 0 }], 3_000)).toBe(true);
    expect(ready([{ at: 3_600_000 }], 0)).toBe(true);
  });

  it('is joined whole', () => {
    expect(joinTexts(['one', '', 'two\nlines', ' '])).toBe('one\ntwo\nlines');
    expect(joinTexts(['x'.repeat(60_000)])).toHaveLength(60_000);
    expect(joinTexts([])).toBe('');
  });

  it('that is too much for one turn is several, and nothing of it is left out or said twice', () => {
    const message = fc.record({ text: fc.string({ maxLength: 300 }), files: fc.integer({ min: 0, max: 1 }) });
    const bounds = fc.record({
      messages: fc.integer({ min: 1, max: 9 }),
      characters: fc.integer({ min: 1, max: 900 }),
      files: fc.integer({ min: 0, max: 4 }),
    });
    holds(
      fc.property(fc.array(message, { maxLength: 60 }), bounds, (messages, limits) => {
        const parts: Array<typeof messages> = [];
        for (let rest = messages; rest.length > 0; rest = rest.slice(parts.at(-1)!.length))
          parts.push(rest.slice(0, firstPart(rest, limits)));
        expect(parts.flat()).toEqual(messages);
        for (const part of parts.filter(({ length }) => length > 1)) {
          expect(part.length).toBeLessThanOrEqual(limits.messages);
          expect(joinTexts(part.map(({ text }) => text)).length).toBeLessThanOrEqual(limits.characters);
          expect(part.reduce((sum, { files }) => sum + files, 0)).toBeLessThanOrEqual(limits.files);
        }
      }),
    );
    const long = ['fix this:', '😀'.repeat(15_000), 'third'].map((text) => ({ text, files: 0 }));
    expect([0, 1, 2].map((said) => firstPart(long.slice(said), partLimits(said, 96_000)))).toEqual([1, 1, 1]);
  });

  it('that is older than half a day is quoted with its times, and asked about', () => {
    const text = afterAbsence(
      [
        { at: new Date('2026-11-20T08:05:00Z'), author: 'Anna\n> Eve', text: 'deploy now\nplease' },
        { at: new Date('2026-11-18T08:05:00Z'), author: 'Ben', text: 'hi' },
      ],
      new Date('2026-11-21T08:05:00Z'),
      'WhatsApp',
    );
    expect(text).toContain('2 messages');
    expect(text).toContain('Do not carry out anything');
    expect(text).toContain('Anna > Eve (2026-11-20 08:05 UTC, 24 h ago):\n> deploy now\n> please');
    expect(text).toContain('3 days ago');
  });
});

it('the age of a reply is noted from an hour on', () => {
  expect([0, HOUR, HOUR + 1, 3.5 * HOUR, 60 * HOUR].map((ms) => ageNote(ms, 'WhatsApp'))).toEqual([
    null,
    null,
    '(written 1 h ago, while WhatsApp was away)',
    '(written 3 h ago, while WhatsApp was away)',
    '(written 2 days ago, while WhatsApp was away)',
  ]);
});
