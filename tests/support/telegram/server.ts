import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { until } from '../until.ts';

/** What the server does with one call instead of carrying it out and answering. */
export type Fault =
  /** closes the connection before the call is carried out, or after it */
  | 'cut before'
  | 'cut after'
  /** carries it out, and answers with a page of a proxy */
  | 'proxy error'
  /** carries it out, and sends half of the answer */
  | 'half an answer'
  | { refuse: number; description: string; parameters?: object }
  /** carries nothing out, and answers with these bytes */
  | { says: string };

/** A message that the bot sent, as people see it now. */
export interface Shown {
  method: string;
  chat: number;
  thread: number | null;
  id: number;
  text: string;
  entities: Array<{ type: string; offset: number; length: number; language?: string; url?: string }>;
  buttons: Array<{ text: string; callback_data: string }>;
  file: { name: string; bytes: number } | null;
  edits: number;
  silent: boolean;
}

interface Call {
  method: string;
  params: Record<string, unknown>;
  at: number;
}

interface Poll {
  end(status: number, body: object): void;
}

export interface Person {
  id: number;
  first_name: string;
  is_bot: boolean;
}

type Fields = Record<string, unknown>;

/** of every group */
const MEMBERS = 5;
const BOT = { id: 7000001, is_bot: true, first_name: 'Fetch', username: 'fetch_test_bot' };

/**
 * A server that speaks the Bot API as far as the channel uses it: queue and offset, one poll at a time, sends with
 * their limits, edits, buttons and files. It keeps what people see, so that a test can count copies.
 */
export class TelegramServer {
  readonly token = `${BOT.id}:test-token-that-nobody-may-see`;
  readonly bot = BOT;
  readonly shown: Shown[] = [];
  readonly calls: Call[] = [];
  readonly files = new Map<string, Buffer>();
  private readonly faults = new Map<string, Fault[]>();
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch(() => response.destroy());
  });
  private updates: Array<{ update_id: number } & Fields> = [];
  private nextUpdate = 1000;
  /** of all servers, because they are one bot: supergroups count by themselves, all other chats together */
  private static readonly nextMessage = new Map<number, number>();
  /** what people wrote, as `chat/id` */
  private readonly written = new Set<string>();
  private poll: Poll | null = null;

  static async start(): Promise<TelegramServer> {
    const it = new TelegramServer();
    it.server.on('connection', (socket) => {
      it.sockets.add(socket);
      socket.on('close', () => it.sockets.delete(socket));
    });
    await new Promise<void>((resolve) => it.server.listen(0, '127.0.0.1', resolve));
    return it;
  }

  get env(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return { FETCH_TELEGRAM_TOKEN: this.token, FETCH_TELEGRAM_API: `http://127.0.0.1:${port}` };
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** The next calls of this method fail so, in this order. */
  fail(method: string, ...faults: Fault[]): void {
    this.faults.set(method, [...(this.faults.get(method) ?? []), ...faults]);
  }

  /** Breaks the poll that waits now, as a network does. */
  cutPoll(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** From now on ids of updates are lower, as after a quiet week. */
  dropUpdateIds(to: number): void {
    this.nextUpdate = to;
  }

  /** Messages that nobody has confirmed. */
  get unconfirmed(): number {
    return this.updates.length;
  }

  /** A message of a person; its id. */
  writes(person: Person, text: string, fields: Fields = {}, chat: Fields = { id: person.id, type: 'private' }): number {
    const message = this.messageOf(person, chat, { text, ...fields });
    this.push({ message });
    return message.message_id;
  }

  /** A message of another kind than text. */
  sends(person: Person, fields: Fields, chat: Fields = { id: person.id, type: 'private' }): number {
    const message = this.messageOf(person, chat, fields);
    this.push({ message });
    return message.message_id;
  }

  edits(person: Person, id: number, text: string, chat: Fields = { id: person.id, type: 'private' }): void {
    const now = Math.floor(Date.now() / 1000);
    this.push({
      edited_message: { message_id: id, from: person, chat, date: now, edit_date: now, text },
    });
  }

  presses(person: Person, under: Shown, label: string): void {
    const button = under.buttons.find(({ text }) => text === label);
    if (!button) throw new Error(`no button ${label} among ${under.buttons.map(({ text }) => text).join(', ')}`);
    const chat = { id: under.chat, type: under.chat > 0 ? 'private' : 'supergroup' };
    const message = { message_id: under.id, chat, date: Math.floor(Date.now() / 1000), from: BOT, text: under.text };
    this.push({
      callback_query: {
        id: String(this.nextUpdate),
        from: person,
        message,
        chat_instance: '1',
        data: button.callback_data,
      },
    });
  }

  /** Somebody adds the bot to a group, or removes it. */
  membership(by: Person, chat: Fields, status: 'member' | 'kicked' | 'left'): void {
    const was = status === 'member' ? 'left' : 'member';
    const user = { id: BOT.id, is_bot: true, first_name: BOT.first_name };
    this.push({
      my_chat_member: {
        chat,
        from: by,
        // no two within one second, as among people
        date: Math.floor(Date.now() / 1000) + this.nextUpdate,
        old_chat_member: { user, status: was },
        new_chat_member: { user, status },
      },
    });
  }

  /** Updates of any form. */
  pushes(...updates: Fields[]): void {
    for (const update of updates) this.push(update);
  }

  /** A reaction to a message of the bot; null takes it off. */
  reacts(person: Person, to: Shown, emoji: string | null): void {
    const reaction = (one: string | null) => (one === null ? [] : [{ type: 'emoji', emoji: one }]);
    const chat = { id: to.chat, type: to.chat > 0 ? 'private' : 'supergroup' };
    this.push({
      message_reaction: {
        chat,
        message_id: to.id,
        user: person,
        date: Math.floor(Date.now() / 1000),
        old_reaction: reaction(emoji === null ? '👍' : null),
        new_reaction: reaction(emoji),
      },
    });
  }

  /** The same update again, under a new id, as after a change of servers. */
  repeat(id: number, person: Person, text: string): void {
    this.push({ message: { ...this.messageOf(person, { id: person.id, type: 'private' }, { text }), message_id: id } });
  }

  /** Waits for a message to a chat that has this text in it. */
  async sees(chat: number, text: string | RegExp): Promise<Shown> {
    const has = (each: Shown) => (typeof text === 'string' ? each.text.includes(text) : text.test(each.text));
    return await until(`a message with ${text}; there are: ${this.textsIn(chat).join(' | ')}`, () =>
      this.shown.find((each) => each.chat === chat && has(each)),
    );
  }

  textsIn = (chat: number): string[] => this.shown.filter((each) => each.chat === chat).map(({ text }) => text);

  callsOf = (method: string): Call[] => this.calls.filter((call) => call.method === method);

  private messageOf(from: Person, chat: Fields, fields: Fields) {
    const message_id = this.messageId(chat.id as number);
    this.written.add(`${chat.id}/${message_id}`);
    return { message_id, from, chat, date: Math.floor(Date.now() / 1000), ...fields };
  }

  private messageId(chat: number): number {
    const counter = String(chat).startsWith('-100') ? chat : 0;
    const id = TelegramServer.nextMessage.get(counter) ?? 1;
    TelegramServer.nextMessage.set(counter, id + 1);
    return id;
  }

  private push(update: Fields): void {
    this.updates.push({ update_id: this.nextUpdate++, ...update });
    const poll = this.poll;
    this.poll = null;
    poll?.end(200, { ok: true, result: this.updates.slice(0, 100) });
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const end = (status: number, body: object | Buffer): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
    };
    const path = request.url!.split('/').slice(1);
    if (path[0] === 'file') {
      const bytes = this.files.get(path.at(-1)!);
      return bytes ? end(200, bytes) : end(404, { ok: false, error_code: 404, description: 'Not Found' });
    }
    if (path[0] !== `bot${this.token}`) return end(401, { ok: false, error_code: 401, description: 'Unauthorized' });
    const method = path[1]!;
    const { params, file } = await parametersOf(request, Buffer.concat(chunks));
    this.calls.push({ method, params, at: Date.now() });
    const fault = this.faults.get(method)?.shift();
    if (fault === 'cut before') return void response.socket?.destroy();
    if (typeof fault === 'object' && 'says' in fault) return end(200, Buffer.from(fault.says));
    if (typeof fault === 'object') {
      const { refuse: error_code, description, parameters } = fault;
      return end(error_code, { ok: false, error_code, description, ...(parameters && { parameters }) });
    }
    if (method === 'getUpdates') return this.getUpdates(params, end, response);
    const [status, body] = this.carryOut(method, params, file);
    if (fault === 'cut after') return void response.socket?.destroy();
    if (fault === 'proxy error') return end(502, Buffer.from('<html>Bad Gateway</html>'));
    if (fault === 'half an answer') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' });
      response.write('{"ok":true,"result":{"message_id"');
      return void setImmediate(() => response.socket?.destroy());
    }
    end(status, body);
  }

  private getUpdates(params: Fields, end: Poll['end'], response: ServerResponse): void {
    const offset = params.offset as number | undefined;
    const at = offset === undefined ? -1 : this.updates.findIndex(({ update_id }) => update_id === offset - 1);
    if (at >= 0) this.updates = this.updates.slice(at + 1);
    const description = 'Conflict: terminated by other getUpdates request';
    this.poll?.end(409, { ok: false, error_code: 409, description });
    this.poll = null;
    if (this.updates.length > 0) {
      end(200, { ok: true, result: this.updates.slice(0, 100) });
      return;
    }
    const poll = { end };
    this.poll = poll;
    response.on('close', () => {
      if (this.poll === poll) this.poll = null;
    });
  }

  private carryOut(method: string, params: Fields, file: Shown['file']): [number, object] {
    const refuse = (description: string): [number, object] => [400, { ok: false, error_code: 400, description }];
    const done = (result: unknown): [number, object] => [200, { ok: true, result }];
    if (method === 'getMe') return done({ ...BOT, can_read_all_group_messages: false });
    if (method === 'getChatMemberCount') return done(MEMBERS);
    if (method === 'getFile') {
      const name = String(params.file_id);
      return this.files.has(name) ? done({ file_id: name, file_path: name }) : refuse('Bad Request: file is too big');
    }
    if (method === 'editMessageText' || method === 'editMessageReplyMarkup')
      return this.edit(method, params, refuse, done);
    if (!/^send(Message|Photo|Video|Audio|Document)$/.test(method)) return done(true);
    const text = String(params.text ?? params.caption ?? '');
    const most = method === 'sendMessage' ? 4096 : 1024;
    if (text.length > most) return refuse('Bad Request: message is too long');
    if (method === 'sendMessage' && text.trim() === '') return refuse('Bad Request: message text is empty');
    const chat = Number(params.chat_id);
    const { inline_keyboard = [] } = (params.reply_markup ?? {}) as { inline_keyboard?: Shown['buttons'][] };
    const message: Shown = {
      method,
      chat,
      thread: (params.message_thread_id as number | undefined) ?? null,
      id: this.messageId(chat),
      text,
      entities: (params.entities ?? params.caption_entities ?? []) as Shown['entities'],
      buttons: inline_keyboard.flat(),
      file,
      edits: 0,
      silent: params.disable_notification === true,
    };
    this.shown.push(message);
    return done({ message_id: message.id, date: Math.floor(Date.now() / 1000), chat: { id: chat }, text });
  }

  private edit(
    method: string,
    params: Fields,
    refuse: (description: string) => [number, object],
    done: (result: unknown) => [number, object],
  ): [number, object] {
    const message = this.shown.find(({ chat, id }) => chat === params.chat_id && id === params.message_id);
    if (this.written.has(`${params.chat_id}/${params.message_id}`))
      return refuse("Bad Request: message can't be edited");
    if (!message) return refuse('Bad Request: message to edit not found');
    const { inline_keyboard = [] } = (params.reply_markup ?? {}) as { inline_keyboard?: Shown['buttons'][] };
    const buttons = inline_keyboard.flat();
    if (method === 'editMessageReplyMarkup' && JSON.stringify(buttons) === JSON.stringify(message.buttons))
      return refuse('Bad Request: message is not modified');
    if (method === 'editMessageReplyMarkup') message.buttons = buttons;
    else if (message.text === params.text) return refuse('Bad Request: message is not modified');
    else message.text = String(params.text);
    message.edits += 1;
    return done({ message_id: message.id, date: Math.floor(Date.now() / 1000), text: message.text });
  }
}

/** The parameters of a call; of an upload, its name and size. */
async function parametersOf(request: IncomingMessage, body: Buffer): Promise<{ params: Fields; file: Shown['file'] }> {
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return { params: JSON.parse(body.toString() || '{}') as Fields, file: null };
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  let file: Shown['file'] = null;
  const params: Fields = {};
  for (const [name, value] of form)
    if (typeof value === 'string') params[name] = parsed(value);
    else file = { name: value.name, bytes: value.size };
  return { params, file };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export const person = (id: number, first_name: string): Person => ({ id, first_name, is_bot: false });
