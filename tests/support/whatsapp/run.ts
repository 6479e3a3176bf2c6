import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, styleText } from 'node:util';
import { fetchHome } from '../../../src/config.ts';
import { HELP, makeCommands } from './commands.ts';
import { startWhatsAppFixture } from './fixture.ts';
import type { Handset, ReceivedMessage } from './handset.ts';

/** `npm run whatsapp-fixture`: a WhatsApp of one's own in a terminal, to try the whole product without a phone. */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8087' },
    pn: { type: 'string', default: '15550001111' },
    name: { type: 'string', default: 'You' },
    instance: { type: 'string', default: 'http://127.0.0.1:8765' },
    token: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const USAGE = `Usage: npm run whatsapp-fixture -- [--port 8087] [--pn 15550001111] [--name You] [--instance http://127.0.0.1:8765] [--token TOKEN]
The instance and its token (by default the one in FETCH_HOME/admin-token) are where \`scan\` looks for the QR.`;
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}

const fixture = await startWhatsAppFixture({
  port: Number(values.port),
  accountPn: values.pn,
  accountName: values.name,
});
const prompt = createInterface({ input: process.stdin, output: process.stdout, prompt: '> ' });
const say = (line: string) => {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[2K');
  console.log(line);
  prompt.prompt(true);
};

console.log(
  `${styleText('bold', 'A local WhatsApp')} at ${fixture.url}, account +${values.pn}. It forgets everything when it ends.\n`,
);
console.log('Start Fetch in another terminal with:\n');
for (const [name, value] of Object.entries(fixture.env)) console.log(`  export ${name}=${value}`);
console.log(`\n${HELP}\n`);

/**
 * What the client writes and does is shown as the own phone sees it, numbered for \`react\`, \`reply\` and \`vote\`.
 */
const numbered: ReceivedMessage[] = [];
const numberOf = (id: string | null) => numbered.findIndex((message) => message.id === id) + 1;
const chatName = (jid: string) => {
  if (jid === fixture.account.lid) return 'you';
  return fixture.contacts.find(({ lid }) => lid === jid)?.name ?? groups.get(jid) ?? jid;
};
const groups = new Map<string, string>();

fixture.hooks.on('shown', (message: ReceivedMessage, handset: Handset) => {
  if (handset !== fixture.phone || message.by !== 'client') return;
  const to = styleText('cyan', `Fetch → ${chatName(message.chat)}`);
  const target = numberOf(message.target);
  if (message.kind === 'edit') say(`${to}  [${target}] is now: ${message.text}`);
  else if (message.kind === 'revoke') say(`${to}  [${target}] was deleted`);
  else if (message.kind === 'reaction')
    say(`${to}  ${message.text || 'no reaction any more'}${target ? ` on [${target}]` : ''}`);
  else if (message.kind !== 'protocol' && message.kind !== 'other') {
    numbered.push(message);
    say(`${to}  [${numbered.length}] ${describe(message)}`);
  }
});
fixture.hooks.on('linked', () => say('Linked. The phone shows a new device.'));
fixture.hooks.on('active', () => say(styleText('dim', 'Fetch is online.')));
fixture.hooks.on('closed', () => say(styleText('dim', 'Fetch is offline.')));
fixture.hooks.on('stanza', (stanza: { tag: string; content?: unknown }) => {
  const state =
    stanza.tag === 'chatstate' && Array.isArray(stanza.content)
      ? (stanza.content[0] as { tag?: string } | undefined)?.tag
      : undefined;
  if (state === 'composing') say(styleText('dim', 'Fetch is typing …'));
});

function describe({ text, media, poll }: ReceivedMessage): string {
  if (poll) return `Poll: ${text}\n${poll.options.map((option) => `      ( ) ${option}`).join('\n')}`;
  if (!media) return text;
  const size = media.bytes ? `${media.bytes.length} bytes` : `not readable: ${media.error}`;
  return `<${media.ptt ? 'voice note' : media.kind}${media.fileName ? ` ${media.fileName}` : ''}, ${media.mimetype}, ${size}> ${text}`.trimEnd();
}

async function statusQr(): Promise<string> {
  const file = join(fetchHome(), 'admin-token');
  const token = values.token ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : '');
  const response = await fetch(new URL('/api/status', values.instance), {
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok)
    throw new Error(
      `${values.instance} answers ${response.status}; give --token or paste the text of the QR: scan TEXT`,
    );
  const { qrCode } = (await response.json()) as { qrCode?: string | null };
  if (!qrCode) throw new Error('Fetch shows no QR now; `fetch pair` makes it show one');
  return qrCode;
}

const run = makeCommands(fixture, {
  say,
  statusQr,
  shown: (number) => numbered[number - 1],
  named: (jid, subject) => void groups.set(jid, subject),
  quit: () => prompt.close(),
});
prompt.on('line', (line) => {
  run(line.trim())
    .catch((error: Error) => say(styleText('red', error.message)))
    .finally(() => prompt.prompt());
});
prompt.on('close', () => void fixture.close().then(() => process.exit(0)));
prompt.prompt();
