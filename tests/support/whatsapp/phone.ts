import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { proto } from '@whiskeysockets/baileys';
import type { Companion } from './companion.ts';
import type { Contact } from './contact.ts';
import type { Content } from './content.ts';
import { type Arrival, Handset, type SendOptions } from './handset.ts';
import { enterPairingCode, scanQr } from './pairing.ts';
import type { Envelope } from './sending.ts';
import { el, isGroup, SERVER, type Stanza, seconds } from './stanza.ts';
import { linked } from './world.ts';

const { Type: Protocol } = proto.Message.ProtocolMessage;

/** The account's own phone: it links devices, feeds them, and its owner types on it too. */
export class OwnPhone extends Handset {
  get jid(): string {
    return this.pn;
  }

  /**
   * Scans the text of a QR; resolves with the linked device's number. Rejects when the QR is stale, forged or not taken
   * by the client.
   */
  scan(qrText: string, options: { advSecret?: Buffer } = {}): Promise<number> {
    return scanQr(this.world, qrText, options.advSecret);
  }
  /** Enters the code that the client shows. Rejects when no client waits for it or the code is another. */
  enterCode(code: string): Promise<number> {
    return enterPairingCode(this.world, code);
  }
  /** Removes one linked device, or all; their sockets end with 401. */
  unlink(device?: number): void {
    for (const companion of linked(this.world)) {
      if (device !== undefined && companion.device !== device) continue;
      companion.removed = true;
      companion.connection?.send(el('stream:error', { code: 401 }, [el('conflict', { type: 'device_removed' })]));
      companion.connection?.close();
    }
  }

  /**
   * Typed on the phone in a chat with a contact, in a group (its jid) or to oneself (`phone.lid`); the linked devices
   * get a copy.
   */
  send(chat: Contact | string, content: Content, options: SendOptions = {}): Promise<{ id: string }> {
    const to = typeof chat === 'string' ? chat : chat.lid;
    return this.post(to === this.pn ? this.lid : to, content, options);
  }
  selfChat(content: Content, options: SendOptions = {}): Promise<{ id: string }> {
    return this.send(this.lid, content, options);
  }

  /** What a newly linked device gets first: recent chats, the LIDs of known numbers, and the keys of the app state. */
  async bootstrap(companion: Companion): Promise<void> {
    await this.historySync({ syncType: proto.HistorySync.HistorySyncType.INITIAL_BOOTSTRAP }, [companion]);
    const key = {
      keyId: { keyId: randomBytes(6) },
      keyData: {
        keyData: randomBytes(32),
        timestamp: Date.now(),
        fingerprint: { rawId: 1, currentIndex: 0, deviceIndexes: [0] },
      },
    };
    await this.#peerMessage(
      { protocolMessage: { type: Protocol.APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys: [key] } } },
      [companion],
    );
  }

  /**
   * Sends history: by default every contact with their LID, and no messages; `viaMedia` puts it on the media host
   * instead of inside the message.
   */
  async historySync(
    history: Partial<proto.IHistorySync> & { viaMedia?: boolean } = {},
    to: Companion[] = linked(this.world),
  ): Promise<void> {
    const { viaMedia, ...fields } = history;
    const full: proto.IHistorySync = {
      syncType: proto.HistorySync.HistorySyncType.RECENT,
      conversations: this.world.contacts.map(({ lid, pn, name }) => ({ id: lid, pnJid: pn, name, messages: [] })),
      phoneNumberToLidMappings: this.world.contacts.map(({ lid, pn }) => ({ lidJid: lid, pnJid: pn })),
      progress: 100,
      ...fields,
    };
    const payload = deflateSync(proto.HistorySync.encode(full).finish());
    const about: proto.Message.IHistorySyncNotification = {
      syncType: full.syncType as number,
      chunkOrder: 1,
      progress: full.progress,
    };
    if (viaMedia) {
      const { path, ...file } = this.world.media.store(`history-${randomBytes(6).toString('hex')}`, 'history', payload);
      Object.assign(about, {
        directPath: path,
        mediaKey: file.mediaKey,
        fileSha256: file.fileSha256,
        fileEncSha256: file.fileEncSha256,
        fileLength: file.fileLength,
      });
    } else {
      about.initialHistBootstrapInlinePayload = payload;
    }
    await this.#peerMessage(
      { protocolMessage: { type: Protocol.HISTORY_SYNC_NOTIFICATION, historySyncNotification: about } },
      to,
    );
  }

  /** What linked devices say only to their phone; the one request that it answers is for messages without content. */
  async acceptPeerMessage(companion: Companion, id: string, message: proto.IMessage): Promise<void> {
    const wanted = message.protocolMessage?.peerDataOperationRequestMessage?.placeholderMessageResendRequest ?? [];
    if (!this.world.faults.answersPlaceholders) return;
    for (const { messageKey } of wanted) {
      const sender = this.world.contacts.find(({ sent }) => sent.has(messageKey?.id ?? ''));
      if (!sender) continue;
      const { message: content, flags } = sender.sent.get(messageKey!.id!)!;
      const info: proto.IWebMessageInfo = {
        key: messageKey!,
        message: content,
        messageTimestamp: seconds(flags.at?.getTime()),
        pushName: sender.name,
      };
      const webMessageInfoBytes = proto.WebMessageInfo.encode(info).finish();
      const peerDataOperationRequestResponseMessage = {
        peerDataOperationRequestType: proto.Message.PeerDataOperationRequestType.PLACEHOLDER_MESSAGE_RESEND,
        stanzaId: id,
        peerDataOperationResult: [{ placeholderMessageResendResponse: { webMessageInfoBytes } }],
      };
      const type = Protocol.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE;
      await this.#peerMessage({ protocolMessage: { type, peerDataOperationRequestResponseMessage } }, [companion]);
    }
  }

  async #peerMessage(message: proto.IMessage, to: Companion[]): Promise<void> {
    const plain = proto.Message.encode(message).finish();
    const bootstrap = message.protocolMessage?.type !== Protocol.PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE;
    for (const companion of to) {
      await this.signal.inTurn(async () => {
        const { type, body } = await this.signal.encrypt(companion, plain);
        const attrs = {
          id: `3A${randomBytes(9).toString('hex').toUpperCase()}`,
          from: this.pn,
          category: 'peer',
          type: 'protocol',
          t: seconds(),
          notify: this.name,
        };
        companion.deliver(el('message', attrs, [el('enc', { v: 2, type }, body)]), bootstrap);
      });
    }
  }

  protected envelope(chat: string, addressing: 'lid' | 'pn'): Envelope {
    if (isGroup(chat)) return { group: chat, attrs: this.world.groups.get(chat)!.senderAttrs(this) };
    const contact = [this, ...this.world.contacts].find(({ lid }) => lid === chat);
    if (!contact) throw new Error(`nobody has the LID ${chat}`);
    const other = addressing === 'pn' ? { peer_recipient_lid: contact.lid } : { peer_recipient_pn: contact.pn };
    const attrs = {
      from: this[addressing],
      recipient: contact[addressing],
      ...other,
      addressing_mode: addressing,
      notify: this.name,
    };
    return { attrs, deviceSentTo: contact[addressing] };
  }

  protected echo(arrival: Arrival): void {
    const group = this.world.groups.get(arrival.chat);
    if (group) for (const member of group.members) member.accept(arrival);
    else this.world.contacts.find(({ lid }) => lid === arrival.chat)?.accept({ ...arrival, chat: this.lid });
  }
}

/** What the server tells pairing clients when WhatsApp retires the secret of the QR that they show. */
export const advRotation = (kind: 'companion_reg_refresh' | 'pair-device-rotate-qr'): Stanza =>
  el(
    'notification',
    { id: `adv-${randomBytes(4).toString('hex')}`, from: SERVER, type: 'companion_reg_refresh', t: seconds() },
    [el(kind)],
  );
