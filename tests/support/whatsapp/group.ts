import { randomBytes } from 'node:crypto';
import type { Contact } from './contact.ts';
import type { Content } from './content.ts';
import type { Handset, SendOptions } from './handset.ts';
import { el, type Stanza, seconds } from './stanza.ts';
import { linked, type World } from './world.ts';

/** A group that the account is in. `addressing` is the form in which its members are listed and write. */
export class Group {
  readonly jid: string;
  readonly addressing: 'lid' | 'pn';
  subject: string;
  readonly members: Contact[];
  readonly #world: World;
  readonly #created = seconds();

  constructor(
    world: World,
    subject: string,
    members: Contact[],
    options: { jid?: string; addressing?: 'lid' | 'pn' } = {},
  ) {
    this.#world = world;
    this.subject = subject;
    this.members = [...members];
    this.addressing = options.addressing ?? 'lid';
    this.jid = options.jid ?? `1203630${Date.now()}${randomBytes(2).readUInt16BE()}@g.us`;
    world.groups.set(this.jid, this);
  }

  /** The members' phones and the account's own. */
  handsets(): Handset[] {
    return [this.#world.phone, ...this.members];
  }

  /** A member writes; to mention the account: `{ text: '@bot ...', mentions: [group.me] }`. */
  send(member: Contact, content: Content, options: SendOptions = {}): Promise<{ id: string }> {
    if (!this.members.includes(member)) throw new Error(`${member.name} is not in ${this.subject}`);
    return member.sendTo(this.jid, content, { addressing: this.addressing, ...options });
  }

  /** The account's address as this group writes it. */
  get me(): string {
    return this.#world.account[this.addressing];
  }
  idOf(handset: Handset): string {
    return handset[this.addressing];
  }

  senderAttrs(handset: Handset): Record<string, string | undefined> {
    const other = this.addressing === 'lid' ? { participant_pn: handset.pn } : { participant_lid: handset.lid };
    return {
      from: this.jid,
      participant: this.idOf(handset),
      ...other,
      addressing_mode: this.addressing,
      notify: handset.name,
    };
  }

  /** Members join or leave, and everybody is told. */
  add(...contacts: Contact[]): void {
    this.members.push(...contacts);
    this.#announce('add', contacts);
  }
  remove(...contacts: Contact[]): void {
    for (const contact of contacts) this.members.splice(this.members.indexOf(contact), 1);
    this.#announce('remove', contacts);
  }
  /** Somebody adds the account, which was not in it before; or removes it. */
  invite(): void {
    this.#announce('add', [this.#world.phone]);
  }
  expel(): void {
    this.#announce('remove', [this.#world.phone]);
  }
  rename(subject: string): void {
    this.subject = subject;
    this.#notify(el('subject', { subject, s_t: seconds(), s_o: this.idOf(this.#world.phone) }));
  }

  metadata(): Stanza {
    const owner = this.idOf(this.#world.phone);
    const attrs = {
      id: this.jid.split('@')[0],
      subject: this.subject,
      creation: this.#created,
      creator: owner,
      s_t: this.#created,
      s_o: owner,
    };
    const listed = this.handsets().map((handset) =>
      this.#participant(handset, handset === this.#world.phone ? 'superadmin' : undefined),
    );
    return el('group', { ...attrs, addressing_mode: this.addressing, size: listed.length }, listed);
  }

  #participant(handset: Handset, type?: string): Stanza {
    const other = this.addressing === 'lid' ? { phone_number: handset.pn } : { lid: handset.lid };
    return el('participant', { jid: this.idOf(handset), ...other, type });
  }
  #announce(change: 'add' | 'remove', contacts: Handset[]): void {
    this.#notify(
      el(
        change,
        {},
        contacts.map((contact) => this.#participant(contact)),
      ),
    );
  }
  #notify(change: Stanza): void {
    const { phone } = this.#world;
    const attrs = {
      from: this.jid,
      type: 'w:gp2',
      participant: this.idOf(phone),
      participant_pn: phone.pn,
      addressing_mode: this.addressing,
      t: seconds(),
    };
    for (const companion of linked(this.#world))
      companion.deliver(el('notification', { id: randomBytes(6).toString('hex'), ...attrs }, [change]));
  }
}
