import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeCommands } from '../../../../support/whatsapp/commands.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';

let fixture: WhatsAppFixture;
let run: (line: string) => Promise<void>;
const said: string[] = [];
beforeAll(async () => {
  fixture = await startWhatsAppFixture();
  const terminal = {
    say: (line: string) => void said.push(line),
    statusQr: async () => 'no QR',
    shown: () => undefined,
    named: () => {},
    quit: () => {},
  };
  run = makeCommands(fixture, terminal);
});
afterAll(() => fixture.close());

const typedByOwner = () => [...fixture.phone.sent.values()].map(({ message }) => message.conversation);

it('sends lines that only look like commands as text', async () => {
  const texts = [
    'read the file please',
    'as soon as you can',
    'file a bug',
    'edit nothing',
    'code is law',
    'drop it',
    'group them by colour',
  ];
  for (const text of texts) await run(text);
  await run('say help');
  expect(typedByOwner()).toEqual([...texts, 'help']);
});

it('writes as other people, once or from now on', async () => {
  await run('as Bob hi there');
  await run('as Bob');
  await run('still Bob');
  await run('as me');
  await run('me again');
  expect(fixture.contacts.map(({ name }) => name)).toEqual(['Bob']);
  expect([...fixture.contacts[0]!.sent.values()].map(({ message }) => message.conversation)).toEqual([
    'hi there',
    'still Bob',
  ]);
  expect(typedByOwner().at(-1)).toBe('me again');
});

it('says what is wrong', async () => {
  await expect(run('react 7 👍')).rejects.toThrow('There is no message 7.');
  await expect(run('scan')).rejects.toThrow('not for linking');
  await expect(run('code ABCD-1234')).rejects.toThrow('no client waits');
});
