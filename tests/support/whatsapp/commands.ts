import { existsSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import type { Contact } from './contact.ts';
import type { Content } from './content.ts';
import type { WhatsAppFixture } from './fixture.ts';
import type { Group } from './group.ts';
import type { ReceivedMessage, SendOptions } from './handset.ts';

/** What a person can do at the prompt of the standalone fixture. */

export const HELP = `Type to text Fetch in the chat with yourself. Commands (a line that only looks like one is sent as text; \`say TEXT\` always is):
  scan [TEXT]          scan the QR: pasted, or read from Fetch's status API
  code XXXXXXXX        enter the pairing code that Fetch shows
  as NAME [TEXT]       text as somebody else, once or from now on; \`as me\` goes back
  group SUBJECT: TEXT  write in a group that both of you are in (made when it is new)
  reply N TEXT         quote message N          react N 👍      react to it
  vote N OPTION        vote in poll N           read            report everything as read
  voice FILE           image FILE [CAPTION]     video FILE [CAPTION]      file FILE [CAPTION]
  edit: TEXT           change what was sent last        revoke    delete it
  drop                 cut the connection               unlink    remove the device
  help                 quit`;

export interface Terminal {
  say(line: string): void;
  statusQr(): Promise<string>;
  shown(number: number): ReceivedMessage | undefined;
  /** a group has this subject */
  named(jid: string, subject: string): void;
  quit(): void;
}

const MIMETYPES: Record<string, string> = {
  '.ogg': 'audio/ogg; codecs=opus',
  '.opus': 'audio/ogg; codecs=opus',
  '.mp3': 'audio/mpeg',
  '.m4a': 'audio/mp4',
  '.wav': 'audio/wav',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.webp': 'image/webp',
  '.mp4': 'video/mp4',
  '.pdf': 'application/pdf',
  '.txt': 'text/plain',
  '.md': 'text/markdown',
};

const alone = (rest: string) => rest === '';
const any = () => true;
const numbered = (rest: string) => /^\d+\b/.test(rest);
const withFile = (rest: string) => /^\S/.test(rest) && existsSync(rest.split(/\s+/)[0]!);

/** What has to follow a command's name; "read the file" and "as soon as you can" are texts. */
const SHAPES: Record<string, (rest: string) => boolean> = {
  help: alone,
  quit: alone,
  read: alone,
  revoke: alone,
  drop: alone,
  unlink: alone,
  scan: (rest) => rest === '' || rest.split(',').length >= 4,
  code: (rest) => /^[\w-]{8,9}$/.test(rest),
  as: (rest) => /^(me|you|\p{Lu}\S*)(\s|$)/u.test(rest),
  group: (rest) => rest.includes(':'),
  reply: numbered,
  react: numbered,
  vote: numbered,
  voice: withFile,
  image: withFile,
  video: withFile,
  file: withFile,
  'edit:': any,
  say: any,
};

/** Returns what runs one line. Its errors are sentences for the person at the prompt. */
export function makeCommands(fixture: WhatsAppFixture, terminal: Terminal): (line: string) => Promise<void> {
  const groups = new Map<string, Group>();
  let speaker: Contact | null = null;
  let last: { by: Contact | null; id: string } | null = null;

  const contactNamed = (name: string): Contact =>
    fixture.contacts.find((contact) => contact.name.toLowerCase() === name.toLowerCase()) ?? fixture.contact(name);
  const handset = (who: Contact | null) => who ?? fixture.phone;
  const send = async (who: Contact | null, content: Content, options?: SendOptions): Promise<void> => {
    const { id } = who ? await who.send(content, options) : await fixture.phone.selfChat(content, options);
    last = { by: who, id };
  };
  const message = (number: string | undefined): ReceivedMessage => {
    const found = terminal.shown(Number(number));
    if (!found) throw new Error(`There is no message ${number ?? ''}.`);
    return found;
  };
  /** the person who speaks now, if they are in the chat of the message; else the owner */
  const reader = (target: ReceivedMessage): Contact | null => (speaker?.message(target.id) ? speaker : null);

  const commands: Record<string, (rest: string, words: string[]) => Promise<void> | void> = {
    help: () => terminal.say(HELP),
    quit: () => terminal.quit(),
    scan: async (rest) => void (await fixture.phone.scan(rest || (await terminal.statusQr()))),
    code: async (rest) => void (await fixture.phone.enterCode(rest.replace(/[\s-]/g, '').toUpperCase())),
    as: async (rest, [name = '']) => {
      const who = /^(me|you)$/i.test(name) ? null : contactNamed(name);
      const text = rest.slice(name.length).trim();
      if (text) return send(who, text);
      speaker = who;
      terminal.say(who ? `You are ${who.name} (${who.pn.split('@')[0]}) now.` : 'You are yourself again.');
    },
    group: async (rest) => {
      const [, subject = '', text = ''] = /^([^:]+):\s*(.+)$/s.exec(rest) ?? [];
      if (!text) throw new Error('Say it as: group SUBJECT: TEXT');
      const group = groups.get(subject) ?? fixture.group(subject, []);
      groups.set(subject, group);
      terminal.named(group.jid, subject);
      if (speaker && !group.members.includes(speaker)) group.add(speaker);
      const content = /@(fetch|bot)\b/i.test(text) ? { text, mentions: [group.me] } : text;
      const { id } = speaker ? await group.send(speaker, content) : await fixture.phone.send(group.jid, content);
      last = { by: speaker, id };
    },
    reply: async (rest, [number = '']) => {
      const target = message(number);
      const who = reader(target);
      const text = rest.slice(number.length).trim();
      const options = { quoted: target.id };
      const group = [...groups.values()].find(({ jid }) => jid === target.chat);
      if (group && who) last = { by: who, ...(await group.send(who, text, options)) };
      else if (who) await send(who, text, options);
      else last = { by: null, ...(await fixture.phone.send(target.chat, text, options)) };
    },
    react: async (_rest, [number, emoji = '👍']) =>
      void (await handset(reader(message(number))).react(message(number).id, emoji)),
    vote: async (rest, [number = '']) =>
      void (await handset(reader(message(number))).vote(message(number).id, [rest.slice(number.length).trim()])),
    'edit:': async (rest) => {
      if (!last) throw new Error('Nothing was sent yet.');
      await handset(last.by).edit(last.id, rest);
    },
    revoke: async () => {
      if (!last) throw new Error('Nothing was sent yet.');
      await handset(last.by).revoke(last.id);
    },
    read: () => {
      for (const contact of fixture.contacts) contact.readAll();
    },
    voice: (rest) => send(speaker, { audio: readFileSync(rest), ptt: true, mimetype: mimetypeOf(rest), seconds: 3 }),
    image: (rest, [file = '']) =>
      send(speaker, { image: readFileSync(file), mimetype: mimetypeOf(file), caption: captionIn(rest, file) }),
    video: (rest, [file = '']) =>
      send(speaker, { video: readFileSync(file), mimetype: mimetypeOf(file), caption: captionIn(rest, file) }),
    file: (rest, [file = '']) =>
      send(speaker, {
        document: readFileSync(file),
        fileName: basename(file),
        mimetype: mimetypeOf(file),
        caption: captionIn(rest, file),
      }),
    say: (rest) => send(speaker, rest),
    drop: () => fixture.disconnect('tcp'),
    unlink: () => fixture.phone.unlink(),
  };

  return async (line) => {
    if (!line) return;
    const [name = '', ...words] = line.split(/\s+/);
    const command = commands[name.toLowerCase()];
    const rest = line.slice(name.length).trim();
    if (command && SHAPES[name.toLowerCase()]?.(rest)) await command(rest, words);
    else await send(speaker, line);
  };
}

const mimetypeOf = (file: string): string | undefined => MIMETYPES[extname(file).toLowerCase()];
const captionIn = (rest: string, file: string): string | undefined => rest.slice(file.length).trim() || undefined;
