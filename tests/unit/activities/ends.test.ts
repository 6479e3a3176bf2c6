import { expect, test } from 'vitest';
import { endOf, loopsOf } from '../../../src/activities/turn/step/ends.ts';
import type { ModelAnswer } from '../../../src/adapters/model/model.ts';
import type { Called, DialogueMessage } from '../../../src/domain/chat/context/context.ts';
import { english, sayIn } from '../../../src/domain/texts/say.ts';
import type { History } from '../../../src/store/turns/steps/transcript.ts';

/** A dialogue in which a tool was called once in each step, with these results. */
function dialogue(name: string, outputs: string[], size?: number) {
  const calls = outputs.map(
    (output, at): Called => ({ id: `call_${at}`, name, args: { command: 'npm test' }, state: 'done', output, size }),
  );
  const messages = calls.map(({ id }, at) => ({ ord: at, role: 'assistant', content: '', call_ids: [id], tokens: 1 }));
  return {
    messages: messages as unknown as DialogueMessage[],
    calls: new Map(calls.map((call) => [call.id, call])),
  };
}
const ends = (...given: Parameters<typeof dialogue>) => loopsOf(dialogue(...given), new Map()).ends;
const sixTimes = (text: (n: number) => string) => Array.from({ length: 6 }, (_, n) => text(n + 7));

test('a command that brings the same again is a loop, however long it took', () => {
  const failed = (n: number) =>
    `\`npm test\` failed with exit code 1 after ${n} s\n1 failed in 0.${n}31s (12:00:${10 + n})`;
  expect(ends('shell_run', sixTimes(failed))).toBe(true);
});

test('other numbers, and other parts that are not shown, are another result', () => {
  expect(
    ends(
      'shell_run',
      sixTimes((n) => `${n} tests failed`),
    ),
  ).toBe(false);
  expect(
    ends(
      'task_status',
      sixTimes((n) => `Task t runs (${n} min)`),
    ),
  ).toBe(false);
});

test.each([
  ['empty', '', 'The model answered with nothing.', 'Das Modell hat nichts geantwortet.'],
  ['cut', 'Half of', 'The answer was cut here', 'Die Antwort bricht hier ab'],
  ['refused', '', 'The model, or a filter of its provider, declined', 'Das Modell oder ein Filter seines Anbieters'],
] as const)('how an answer ended (%s) is said in the language of the person', (end, text, said, inGerman) => {
  const answer = { text, calls: [], end: end === 'empty' ? undefined : end } as unknown as ModelAnswer;
  const history = { messages: [], calls: new Map() } as unknown as History;
  const { note } = endOf(answer, { history, loops: false });
  expect(note?.(english)).toContain(said);
  expect(note?.(sayIn('de'))).toContain(inGerman);
});

test('a server that wants no more requests is a loop at any of its addresses, a page that is not there at its own', () => {
  const refused = (status: string) =>
    sixTimes((n) => `https://a.example/${n}?t=${n} answered ${status}\n\nNumber ${n}`);
  expect(ends('web_fetch', refused('429 Too Many Requests'))).toBe(true);
  expect(ends('web_fetch', refused('503 Service Unavailable'))).toBe(true);
  expect(ends('web_fetch', refused('404 Not Found'))).toBe(false);
  const servers = sixTimes((n) => `https://${n}.example/ answered 429 Too Many Requests\n\nNumber ${n}`);
  expect(ends('web_fetch', servers)).toBe(false);
});

test('the steps of a dialogue that has ended are looked at once, also where they go round in circles', () => {
  const { messages, calls } = dialogue(
    'shell_run',
    sixTimes(() => '1 failed in the suite of the whole project '.repeat(4)),
  );
  const asked = { ord: 100, role: 'user', content: 'and now?', call_ids: [], tokens: 1 } as unknown as DialogueMessage;
  const looked: string[] = [];
  const thread = {
    messages: [...messages, asked],
    calls: {
      get(id: string) {
        looked.push(id);
        return calls.get(id);
      },
    },
  };
  const added = new Map();
  const first = loopsOf(thread, added);
  expect(first.ends).toBe(false);
  expect(first.told.get('call_5')).toBe(6);
  expect(looked.length).toBeGreaterThan(0);
  looked.length = 0;
  const again = loopsOf({ ...thread, messages: [...messages, asked, { ...asked, ord: 101 }] }, added);
  expect(again.told).toEqual(first.told);
  expect(looked).toEqual([]);
});
