import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generate } from 'selfsigned';
import { type EncryptedMedia, encryptMedia, type MediaKind } from './media-crypto.ts';

interface StoredFile {
  blob: Buffer;
  expired: boolean;
}

interface SentFile {
  path: string;
  kind: MediaKind;
  plain: Buffer;
  mediaKey: Buffer;
}

const DAY_MS = 86_400_000;
const MAX_UPLOAD_BYTES = 128 * 1024 * 1024;

/** The media host: uploads and downloads over TLS, with a certificate of an authority made for this run. */
export class MediaServer {
  readonly auth = randomBytes(12).toString('hex');
  readonly host: string;
  readonly caFile: string;
  /** every request, as `METHOD path status` */
  readonly requests: string[] = [];
  readonly uploads: { path: string; bytes: number }[] = [];
  #stalled: (() => void)[] | null = null;
  #failing = 0;
  readonly #files = new Map<string, StoredFile>();
  readonly #sent = new Map<string, SentFile>();
  readonly #server: Server;
  readonly #folder: string;

  private constructor(server: Server, host: string, folder: string, caFile: string) {
    this.#server = server;
    this.host = host;
    this.#folder = folder;
    this.caFile = caFile;
  }

  static async start(): Promise<MediaServer> {
    const validity = {
      algorithm: 'sha256',
      keyType: 'ec' as const,
      notBeforeDate: new Date(Date.now() - DAY_MS),
      notAfterDate: new Date(Date.now() + 30 * DAY_MS),
    };
    const ca = await generate([{ name: 'commonName', value: 'WhatsApp fixture authority' }], {
      ...validity,
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    });
    const leaf = await generate([{ name: 'commonName', value: '127.0.0.1' }], {
      ...validity,
      ca: { key: ca.private, cert: ca.cert },
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
      ],
    });
    let media: MediaServer | null = null;
    const server = createServer(
      { key: leaf.private, cert: leaf.cert },
      (request, response) => void media!.#answer(request, response),
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const folder = mkdtempSync(join(tmpdir(), 'whatsapp-fixture-'));
    const caFile = join(folder, 'ca.pem');
    writeFileSync(caFile, ca.cert);
    media = new MediaServer(server, `127.0.0.1:${(server.address() as AddressInfo).port}`, folder, caFile);
    return media;
  }

  url(path: string): string {
    return `https://${this.host}${path}`;
  }

  /** Encrypts and stores what a phone sends; `messageId` is what the faults below are told. */
  store(messageId: string, kind: MediaKind, plain: Buffer): EncryptedMedia & { path: string } {
    const encrypted = encryptMedia(plain, kind);
    const path = this.#put(kind, encrypted.blob);
    this.#sent.set(messageId, { path, kind, plain, mediaKey: encrypted.mediaKey });
    return { ...encrypted, path };
  }

  /** The same file at a new path, as a phone uploads it again; null when the phone has it no more. */
  storeAgain(messageId: string): { path: string; mediaKey: Buffer } | null {
    const sent = this.#sent.get(messageId);
    if (!sent) return null;
    sent.path = this.#put(sent.kind, encryptMedia(sent.plain, sent.kind, sent.mediaKey).blob);
    return { path: sent.path, mediaKey: sent.mediaKey };
  }

  mediaKeyOf(messageId: string): Buffer | null {
    return this.#sent.get(messageId)?.mediaKey ?? null;
  }

  /** The stored bytes at a path, as a receiving phone downloads them. */
  read(path: string): Buffer | null {
    const file = this.#files.get(path.split('?')[0] ?? '');
    return file && !file.expired ? file.blob : null;
  }

  /** The file of a message answers 410 from now on. */
  expire(messageId: string): void {
    this.#fileOf(messageId).file.expired = true;
  }

  /**
   * `mac`: another MAC at the end. `hash`: other content, well encrypted and with a right MAC, so that only the hashes
   * tell.
   */
  corrupt(messageId: string, how: 'mac' | 'hash'): void {
    const { file, sent } = this.#fileOf(messageId);
    if (how === 'hash') {
      file.blob = encryptMedia(
        Buffer.concat([sent.plain.subarray(0, -1), Buffer.from([~sent.plain.at(-1)! & 0xff])]),
        sent.kind,
        sent.mediaKey,
      ).blob;
    } else {
      file.blob = Buffer.from(file.blob);
      file.blob[file.blob.length - 1]! ^= 0xff;
    }
  }

  /** Uploads are read and not answered until this is called with false. */
  stallUploads(stall: boolean): void {
    if (!stall) for (const go of this.#stalled ?? []) go();
    this.#stalled = stall ? [] : null;
  }
  get stalledUploads(): number {
    return this.#stalled?.length ?? 0;
  }
  failUploads(count: number): void {
    this.#failing = count;
  }

  async close(): Promise<void> {
    this.stallUploads(false);
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #put(kind: MediaKind, blob: Buffer): string {
    const path = `/v/t62.7118-24/${kind}-${randomBytes(12).toString('hex')}.enc`;
    this.#files.set(path, { blob, expired: false });
    return path;
  }
  #fileOf(messageId: string): { file: StoredFile; sent: SentFile } {
    const sent = this.#sent.get(messageId);
    const file = sent && this.#files.get(sent.path);
    if (!file) throw new Error(`message ${messageId} has no media`);
    return { file, sent: sent! };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', `https://${this.host}`);
    const reply = (status: number, body: Buffer | string, type: string) => {
      this.requests.push(`${request.method} ${url.pathname} ${status}`);
      response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
    };
    if (request.method === 'GET') {
      const file = this.#files.get(url.pathname);
      if (!file || file.expired) return reply(file ? 410 : 404, '', 'text/plain');
      return reply(200, file.blob, 'application/octet-stream');
    }
    const parts: Buffer[] = [];
    let size = 0;
    for await (const part of request) {
      size += (part as Buffer).length;
      if (size <= MAX_UPLOAD_BYTES) parts.push(part as Buffer);
    }
    if (this.#stalled) await new Promise<void>((go) => this.#stalled?.push(go));
    const upload = /^\/mms\/(image|video|audio|document)\/([\w-]+)$/.exec(url.pathname);
    if (!upload || size > MAX_UPLOAD_BYTES) return reply(404, '{}', 'application/json');
    if (this.#failing > 0) {
      this.#failing--;
      return reply(500, '{"error":"try again"}', 'application/json');
    }
    const blob = Buffer.concat(parts);
    const name = createHash('sha256').update(blob).digest('base64url');
    if (url.searchParams.get('auth') !== this.auth || upload[2] !== name)
      return reply(401, '{"error":"auth or hash is wrong"}', 'application/json');
    const path = this.#put(upload[1] as MediaKind, blob);
    this.uploads.push({ path, bytes: size });
    reply(200, JSON.stringify({ url: this.url(path), direct_path: path }), 'application/json');
  }
}
