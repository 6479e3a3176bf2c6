import { randomBytes } from 'node:crypto';
import type { Content } from './content.ts';
import { type Arrival, Handset, type SendOptions, type Target } from './handset.ts';
import { askAgain } from './retry.ts';
import type { Envelope } from './sending.ts';
import { SignalParty } from './signal.ts';
import { el, isGroup, isLid, type Stanza, seconds, user } from './stanza.ts';
import { linked, type World } from './world.ts';

/** Another person with WhatsApp, who writes to the account. */
export class Contact extends Handset {
  /** composing, recording or paused, as the client last showed it to this person */
  sees: string | null = null;

  /** Sends to the account; resolves when it is queued for every linked device. */
  send(content: Content, options: SendOptions = {}): Promise<{ id: string }> {
    return this.post(options.broadcast ?? this.world.account.lid, content, options);
  }
  /** used by groups */
  sendTo(group: string, content: Content, options: SendOptions = {}): Promise<{ id: string }> {
    return this.post(group, content, options);
  }

  /** Asks the client for a message again, with new keys, as if it could not be decrypted. */
  requestRetry(target: Target): void {
    const id = typeof target === 'string' ? target : target.id;
    const received = this.message(id);
    if (!received) throw new Error(`${this.name} has no message ${id}`);
    for (const companion of linked(this.world)) {
      askAgain(this.world, this, companion, {
        id,
        to: isGroup(received.chat) ? received.chat : received.from,
        addressing: received.addressing,
        withKeys: true,
      });
    }
  }

  /** Opens the chat: everything unread is reported as read, voice notes as played on request. */
  readAll(type: 'read' | 'played' = 'read'): void {
    const byChat = new Map<string, string[]>();
    for (const { id, chat, addressing } of this.unread) {
      const key = isGroup(chat) ? chat : addressing;
      byChat.set(key, [...(byChat.get(key) ?? []), id]);
    }
    this.unread.clear();
    for (const [key, [first, ...rest]] of byChat) {
      const where = isGroup(key) ? { from: key, participant: this.lid } : { from: key === 'pn' ? this.pn : this.lid };
      const items = rest.map((id) => el('item', { id }));
      const list = items.length ? [el('list', {}, items)] : undefined;
      for (const companion of linked(this.world))
        this.world.faults.sendReceipt(companion, { ...where, id: first, type, t: seconds() }, list);
    }
  }

  /** Shown at once or never: chat states are not queued. */
  typing(state: 'composing' | 'recording' | 'paused' = 'composing'): void {
    const shown = state === 'recording' ? el('composing', { media: 'audio' }) : el(state);
    this.#now(el('chatstate', { from: this.lid, to: this.world.account.lid }, [shown]));
  }

  /** Rings; with `missed` it stops ringing at once. Returns the call's id. */
  call(options: { video?: boolean; missed?: boolean } = {}): string {
    const callId = randomBytes(8).toString('hex').toUpperCase();
    const ring = (child: Stanza) =>
      linked(this.world).forEach((companion) => {
        companion.deliver(
          el('call', { id: `call-${randomBytes(4).toString('hex')}`, from: this.lid, t: seconds() }, [child]),
        );
      });
    const about = { 'call-id': callId, 'call-creator': this.lid, caller_pn: this.pn };
    ring(el('offer', about, [options.video ? el('video') : el('audio')]));
    if (options.missed) ring(el('terminate', { ...about, reason: 'timeout' }));
    return callId;
  }

  /** A new phone with the same number: another identity and no sessions, and the linked devices are told. */
  reinstall(): void {
    this.signal = new SignalParty(user(this.lid));
    const attrs = { id: randomBytes(6).toString('hex'), from: this.lid, type: 'encrypt', t: seconds() };
    for (const companion of linked(this.world)) companion.deliver(el('notification', attrs, [el('identity')]));
  }

  /** What the client has reported of a message that this person sent. */
  receiptsOf(target: Target): string[] {
    return this.sent.get(typeof target === 'string' ? target : target.id)?.receipts ?? [];
  }

  protected envelope(chat: string, addressing: 'lid' | 'pn'): Envelope {
    const notify = this.name;
    if (isGroup(chat)) return { group: chat, attrs: this.world.groups.get(chat)!.senderAttrs(this) };
    if (chat.endsWith('@broadcast'))
      return { attrs: { from: chat, participant: this.lid, participant_pn: this.pn, addressing_mode: 'lid', notify } };
    if (addressing === 'pn')
      return {
        attrs: { from: this.pn, sender_lid: isLid(this.lid) ? this.lid : undefined, addressing_mode: 'pn', notify },
      };
    return { attrs: { from: this.lid, sender_pn: this.pn, addressing_mode: 'lid', notify } };
  }

  protected echo(arrival: Arrival): void {
    const group = this.world.groups.get(arrival.chat);
    if (!group) this.world.phone.accept({ ...arrival, chat: this.lid });
    else for (const member of group.handsets()) if (member !== this) member.accept(arrival);
  }

  #now(stanza: Stanza): void {
    for (const { connection, active } of linked(this.world)) if (active) connection?.send(stanza);
  }
}

let people = 0;

/** Made-up addresses that no other contact of this run has. */
export function newContact(world: World, name: string, options: { pn?: string; lid?: string } = {}): Contact {
  people++;
  const pn = options.pn ?? `1555${String(2_000_000 + people)}`;
  const lid = options.lid ?? String(200_000_000_000_000 + people);
  const contact = new Contact(
    world,
    name,
    pn.includes('@') ? pn : `${pn}@s.whatsapp.net`,
    lid.includes('@') ? lid : `${lid}@lid`,
  );
  world.contacts.push(contact);
  return contact;
}
