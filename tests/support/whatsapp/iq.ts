import type { Connection } from './connection.ts';
import { answerKeys, bootstrapKeys } from './keys-iq.ts';
import { activate } from './login.ts';
import { answerLinkCode } from './pairing.ts';
import { child, children, el, SERVER, type Stanza, seconds } from './stanza.ts';
import { answerUsync } from './usync.ts';
import type { World } from './world.ts';

/** Requests of the client and their answers, by namespace. */

type Answer = Stanza[] | { code: number; text: string };
type Handler = (world: World, connection: Connection, iq: Stanza) => Answer;

const NOT_FOUND: Answer = { code: 404, text: 'item-not-found' };
const PRIVACY = {
  readreceipts: 'all',
  last: 'all',
  online: 'all',
  profile: 'all',
  status: 'all',
  groupadd: 'all',
  calladd: 'all',
  messages: 'all',
};

const handlers: Record<string, Handler> = {
  'w:p': () => [],
  encrypt: (world, connection, iq) =>
    iq.attrs.type === 'set' ? bootstrapKeys(connection, iq) : answerKeys(world, connection, iq),
  passive: () => [],
  usync: (world, _connection, iq) => answerUsync(world, iq),
  abt: () => [
    el('props', { protocol: 1, hash: 'fixture' }, [el('prop', { config_code: 10518, config_value: 'true' })]),
  ],
  blocklist: () => [el('list')],
  privacy: (_world, _connection, iq) => {
    const tokens = child(iq, 'tokens');
    if (!tokens)
      return [
        el(
          'privacy',
          {},
          Object.entries(PRIVACY).map(([name, value]) => el('category', { name, value })),
        ),
      ];
    const issued = children(tokens, 'token').map(({ attrs }) =>
      el('token', attrs, Buffer.from(`token for ${attrs.jid}`)),
    );
    return [el('tokens', {}, issued)];
  },
  'w:sync:app:state': (_world, _connection, iq) => {
    const collections = children(child(iq, 'sync'), 'collection');
    return [
      el(
        'sync',
        {},
        collections.map(({ attrs }) =>
          el('collection', { name: attrs.name, version: attrs.version, has_more_patches: 'false' }),
        ),
      ),
    ];
  },
  'w:m': (world) => [
    el('media_conn', { auth: world.media.auth, ttl: 3600, auth_ttl: 21_600, max_buckets: 12 }, [
      el('host', { hostname: world.media.host }),
    ]),
  ],
  'w:g2': (world, _connection, iq) => {
    if (child(iq, 'participating'))
      return [
        el(
          'groups',
          {},
          [...world.groups.values()].map((group) => group.metadata()),
        ),
      ];
    const group = world.groups.get(iq.attrs.to ?? '');
    if (!group) return NOT_FOUND;
    return child(iq, 'query') ? [group.metadata()] : [];
  },
  'w:stats': () => [],
  'urn:xmpp:whatsapp:dirty': () => [],
  'w:profile:picture': () => NOT_FOUND,
  'w:mex': () => [
    el(
      'result',
      {},
      Buffer.from(JSON.stringify({ data: { xwa2_fetch_account_reachout_timelock: { is_active: false } } })),
    ),
  ],
  md: (world, connection, iq) => {
    const registration = child(iq, 'link_code_companion_reg');
    if (registration) return answerLinkCode(world, connection, registration);
    if (!child(iq, 'remove-companion-device') || !connection.companion) return NOT_FOUND;
    connection.companion.removed = true;
    return [];
  },
};

export function handleIq(world: World, connection: Connection, iq: Stanza): void {
  if (iq.attrs.type === 'result' || iq.attrs.type === 'error') return;
  const xmlns = iq.attrs.xmlns ?? '';
  const handler = handlers[xmlns];
  const refused = world.faults.takeIqError(xmlns);
  let answer: Answer = { code: 501, text: 'feature-not-implemented' };
  if (refused !== undefined) answer = { code: refused, text: refused === 429 ? 'rate-overlimit' : 'refused' };
  else if (handler && (connection.companion || xmlns === 'md' || xmlns === 'w:p'))
    answer = handler(world, connection, iq);
  if (!handler) world.ledger.problem(`an iq in the unknown namespace ${xmlns}`);
  const ok = Array.isArray(answer);
  const content = Array.isArray(answer) ? answer : [el('error', answer)];
  connection.send(
    el(
      'iq',
      { type: ok ? 'result' : 'error', id: iq.attrs.id, from: iq.attrs.to || SERVER, t: seconds() },
      content.length ? content : undefined,
    ),
  );
  if (ok && xmlns === 'passive' && child(iq, 'active')) activate(world, connection);
}
