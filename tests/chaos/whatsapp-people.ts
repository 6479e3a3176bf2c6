import { setTimeout as pause } from 'node:timers/promises';
import { script } from '../support/app.ts';
import type { WhatsAppFixture } from '../support/whatsapp/fixture.ts';
import type { Handset } from '../support/whatsapp/handset.ts';
import type { Random } from './random.ts';

/** One chat with the account: how something is said in it, and on which phones the answer must show. */
export interface Chatter {
  name: string;
  audience: Handset[];
  say(token: string, slow: boolean): Promise<{ id: string }>;
}

/** A message that was sent, and the word that its answer must hold. */
export interface Spoken {
  chatter: Chatter;
  id: string;
  token: string;
  /** milliseconds until every phone showed its answer; null when that was not waited for, or in vain */
  answeredMs: number | null;
}

export interface People {
  /** digits of everybody's phone number */
  numbers: string[];
  chatters: Chatter[];
  /** sends three messages at once, without waiting for an answer in between */
  hasty: Chatter;
}

const BY_LID = ['ann', 'ben', 'cleo', 'dora', 'emil'];
const BY_NUMBER = ['fay', 'gus', 'hana', 'ivo'];
const WORDS = Array.from({ length: 15 }, (_, at) => `w${at}`).join(' ');
export const answerTo = (token: string, slow: boolean): string =>
  slow ? `answer ${token} ${WORDS}` : `answer ${token}`;
const scripted = (token: string, slow: boolean): string =>
  script([{ say: answerTo(token, slow), ...(slow && { pace: 60 }) }]);

/**
 * Everybody who writes: contacts in both forms of their address, the owner in the chat with oneself, a member of a
 * group, and somebody hasty.
 */
export function invite(fixture: WhatsAppFixture): People {
  const direct = (name: string, addressing: 'lid' | 'pn'): Chatter => {
    const contact = fixture.contact(name);
    return { name, audience: [contact], say: (token, slow) => contact.send(scripted(token, slow), { addressing }) };
  };
  const chatters = [...BY_LID.map((name) => direct(name, 'lid')), ...BY_NUMBER.map((name) => direct(name, 'pn'))];
  const { phone } = fixture;
  chatters.push({ name: 'self', audience: [phone], say: (token, slow) => phone.selfChat(scripted(token, slow)) });
  const members = [fixture.contact('Kurt'), fixture.contact('Lena')];
  const group = fixture.group('Team', members);
  // a group's message carries its author's name, so it is no script: the model answers it by repeating it
  chatters.push({ name: 'team', audience: members, say: (token) => group.send(members[0]!, `@fetch ${token}`) });
  const max = fixture.contact('max');
  const numbers = [...fixture.contacts, phone].map(({ pn }) => pn.split('@')[0]!);
  return { numbers, chatters, hasty: { name: 'max', audience: [max], say: (token) => max.send(token) } };
}

/**
 * How often a phone shows an answer that holds the token: messages with ids of their own, whatever the wire repeated.
 */
export const timesShown = (handset: Handset, token: string): number =>
  handset.received.filter(({ by, kind, shown }) => by === 'client' && kind === 'text' && shown.text.includes(token))
    .length;

export interface TalkOptions {
  messages: number;
  /** messages that each burst of the hasty one comes after */
  burstEvery: number;
  random: Random;
  /** whether one more message may be sent now */
  allowed(sent: number): boolean;
  /** longest wait for one answer, milliseconds */
  patienceMs: number;
  stopped?: AbortSignal;
}

export interface Talk {
  spoken: Spoken[];
  hurried: Spoken[];
  /** messages that were answered, or are no longer waited for */
  done(): number;
  over: Promise<void>;
}

/** Lets everybody write, each the next message when the last one is answered, until so many were sent. */
export function talk(people: People, options: TalkOptions): Talk {
  const { random, messages } = options;
  const spoken: Spoken[] = [];
  const hurried: Spoken[] = [];
  let sent = 0;
  let done = 0;
  const word = (name: string, at: number): string => `${name}-${String(at).padStart(4, '0')}`;

  async function chat(chatter: Chatter): Promise<void> {
    for (;;) {
      while (sent < messages && !options.allowed(sent)) await pause(50);
      if (sent >= messages || options.stopped?.aborted) return;
      sent += 1;
      const token = word(chatter.name, sent);
      if (sent % options.burstEvery === 0) void hurry(sent);
      const begun = Date.now();
      const { id } = await chatter.say(token, random.next() < 0.3);
      const entry: Spoken = { chatter, id, token, answeredMs: null };
      spoken.push(entry);
      const shown = (): boolean => chatter.audience.every((handset) => timesShown(handset, token) > 0);
      while (!shown() && Date.now() - begun < options.patienceMs && !options.stopped?.aborted) await pause(25);
      if (shown()) entry.answeredMs = Date.now() - begun;
      done += 1;
      await pause(random.between(0, 600));
    }
  }

  async function hurry(at: number): Promise<void> {
    for (const letter of ['a', 'b', 'c']) {
      const token = word(`max${letter}`, at);
      const { id } = await people.hasty.say(token, false);
      hurried.push({ chatter: people.hasty, id, token, answeredMs: null });
    }
  }

  const over = Promise.all(people.chatters.map(chat)).then(() => {});
  return { spoken, hurried, done: () => done, over };
}
