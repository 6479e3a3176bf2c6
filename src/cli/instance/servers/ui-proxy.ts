import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { PayloadCodec } from '@temporalio/common';
import { answerCodec, type CodecAction, codecAction } from '../../../adapters/payloads/codec-server.ts';
import { freePort } from './ports.ts';
import { type List, listOf, readable, serverQuery } from './ui-lists.ts';
import { entryPage } from './ui-views.ts';

/**
 * Login proxy for the Temporal Web UI, which has no login of its own: whoever reaches it can signal a workflow. The
 * embedded server has a Web UI (`fetch start`), and `FETCH_TEMPORAL_UI_URL` names that of another server (the api role).
 * A browser needs the token, which `fetch ui` gives it, and this address as the host: a page of another site whose name
 * resolves to this machine sends its own name.
 */

export interface UiAddress {
  ip: string;
  port: number;
}

/**
 * Where the UI of the embedded server itself listens: on Linux one of sixteen million loopback addresses, elsewhere a
 * port that nobody is told.
 */
export async function hiddenAddress(platform = process.platform): Promise<UiAddress> {
  const ip = platform === 'linux' ? `127.${randomInt(1, 255)}.${randomInt(0, 255)}.${randomInt(1, 255)}` : '127.0.0.1';
  return { ip, port: await freePort(ip) };
}

const COOKIE = 'fetch_ui';
/** A browser that was closed meanwhile still knows its pass: `fetch ui` says so. */
const REMEMBERED_S = 30 * 24 * 3600;

/** Of the token, and never the token: a browser sends cookies to every port of an address. */
const passOf = (token: string): string => createHash('sha256').update(`ui ${token}`).digest('hex');

export interface UiProxy {
  close(): Promise<void>;
}

interface Ui {
  /** origin of the UI itself */
  target: URL;
  /** lets the UI show payloads: its pages ask for them here, at their own address, with the same cookie */
  codec: PayloadCodec;
  /** what this address is called */
  hosts: ReadonlySet<string>;
  /** the cookie of a browser that knew the token */
  pass: string;
  /** whose lists get our columns and views */
  namespace: string;
}

/** @param host address to listen on */
export async function serveUi({
  host = '127.0.0.1',
  port,
  target,
  token,
  codec,
  namespace,
}: Pick<Ui, 'target' | 'codec' | 'namespace'> & { host?: string; port: number; token: string }): Promise<UiProxy> {
  const hosts = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
  const ui: Ui = { target, codec, namespace, hosts, pass: passOf(token) };
  const server = createServer((incoming, response) => handle(ui, incoming, response));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function handle(ui: Ui, incoming: IncomingMessage, response: ServerResponse): void {
  const stranger = foreign(ui, incoming);
  const url = URL.parse(incoming.url ?? '/', 'http://127.0.0.1');
  const given = url?.searchParams.get('token');
  if (stranger) refuse(response, ...stranger);
  else if (!url) refuse(response, 400, 'This is no address.');
  else if (typeof given === 'string') enter(ui, given, url, response);
  else if (url.pathname === ENTRY) begin(ui, url, response);
  else if (!hasPass(ui, incoming.headers.cookie)) refuse(response, 401, 'This page needs a token. Run: fetch ui');
  else {
    const action = codecAction(url.pathname);
    if (action) void decode(ui, action, incoming, response);
    else forward(ui, incoming, response, url);
  }
}

/** A page of elsewhere that got here by a name of its own, or that writes to us. */
function foreign(
  { hosts }: Ui,
  { headers: { host = '', origin }, rawHeaders }: IncomingMessage,
): [number, string] | null {
  const named = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
  if (named !== 1 || !hosts.has(host))
    return [421, 'This is the Web UI of a Temporal server, and it goes by another name.'];
  return origin === undefined || hosts.has(origin.replace('http://', ''))
    ? null
    : [403, 'Another page may not use this.'];
}

const ENTRY = '/fetch-entry';
/** One slash: two would be the address of another host. */
const oneSlash = (path: string): string => `/${path.replaceAll(/[/\\]{2,}/g, '/').replace(/^[/\\]/, '')}`;

/** The token is in the address once, and in no page that is looked at afterwards. */
function enter({ pass }: Ui, given: string, url: URL, response: ServerResponse): void {
  if (!equal(passOf(given), pass)) {
    refuse(response, 403, 'This token is not the one of this instance. Run: fetch ui');
    return;
  }
  url.searchParams.delete('token');
  const cookie = `${COOKIE}=${pass}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${REMEMBERED_S}`;
  const location = `${ENTRY}?to=${encodeURIComponent(oneSlash(`${url.pathname}${url.search}`))}`;
  response.writeHead(303, { location, 'set-cookie': cookie, 'referrer-policy': 'no-referrer' }).end();
}

/** The columns and views are set in every browser that comes by the link. */
function begin({ namespace }: Ui, url: URL, response: ServerResponse): void {
  const nonce = randomBytes(16).toString('base64');
  response
    .writeHead(200, {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'`,
      'cache-control': 'no-store',
    })
    .end(entryPage({ namespace, to: oneSlash(url.searchParams.get('to') ?? '/'), nonce }));
}

function hasPass({ pass }: Ui, cookie = ''): boolean {
  const sent = cookie.split(';').find((each) => each.trim().startsWith(`${COOKIE}=`));
  return sent !== undefined && equal(sent.trim().slice(COOKIE.length + 1), pass);
}

async function decode(
  { codec }: Ui,
  action: CodecAction,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const { status, type, body } = await answerCodec(codec, action, incoming);
    response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
  } catch {
    // the browser has gone away in the middle of its question
    response.destroy();
  }
}

function forward({ target, codec }: Ui, incoming: IncomingMessage, response: ServerResponse, url: URL): void {
  const headers = { ...incoming.headers, host: target.host };
  const list = incoming.method === 'GET' ? listOf(url.pathname) : null;
  // a list is read here
  if (list) delete headers['accept-encoding'];
  const query = url.searchParams.get('query');
  if (query !== null) url.searchParams.set('query', serverQuery(query));
  const path = query === null ? incoming.url : `${url.pathname}${url.search}`;
  // the UI compares it with its own host
  delete headers.origin;
  const outgoing = request(
    { host: target.hostname, port: target.port || 80, method: incoming.method, path, headers },
    (answer) => {
      if (list && answer.statusCode === 200) return void rewrite(answer, response, { list, query: query ?? '', codec });
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, 'x-frame-options': 'DENY' });
      answer.pipe(response);
    },
  );
  outgoing.on('error', () =>
    response.headersSent
      ? response.destroy()
      : refuse(
          response,
          502,
          `No Temporal Web UI answers at ${target.host}. Look at: fetch status, or docker compose ps temporal-ui`,
        ),
  );
  response.on('close', () => outgoing.destroy());
  incoming.pipe(outgoing);
}

/** A list with columns for people. What is no list goes on as it came. */
async function rewrite(
  answer: IncomingMessage,
  response: ServerResponse,
  { list, query, codec }: { list: List; query: string; codec: PayloadCodec },
): Promise<void> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const { 'content-length': _, 'transfer-encoding': __, ...headers } = answer.headers;
    const shown = await readable(list, query, body, codec).catch(() => body);
    response.writeHead(200, { ...headers, 'x-frame-options': 'DENY' }).end(shown);
  } catch {
    // either side has gone away
    response.destroy();
  }
}

const equal = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`);
}
