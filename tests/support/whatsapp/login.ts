import { randomBytes } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type { Connection } from './connection.ts';
import { beginPairing } from './pairing.ts';
import { el, seconds, user } from './stanza.ts';
import type { World } from './world.ts';

/** After the handshake: a known device logs in, an unknown client registers, everything else is refused. */

export function handlePayload(world: World, connection: Connection, payload: proto.ClientPayload): void {
  const { primary, secondary, tertiary } = payload.userAgent?.appVersion ?? {};
  const version = [primary, secondary, tertiary].join('.');
  const { loginRefusal } = world.faults;
  const device = Number(payload.device ?? 0);
  const log = (outcome: 'accepted' | 'refused', reason: string | null) =>
    world.ledger.record({
      kind: 'login',
      at: Date.now(),
      device,
      outcome,
      reason,
      version,
      routingInfo: connection.routingInfo,
    });
  const refuse = (reason: number) => {
    log('refused', String(reason));
    connection.send(el('failure', { reason, location: 'rva' }));
    connection.close();
  };
  if (loginRefusal !== null) {
    refuse(loginRefusal);
    return;
  }
  if (!payload.username) {
    beginPairing(world, connection, payload);
    return;
  }
  const companion = world.companions.get(device);
  const known =
    companion &&
    !companion.removed &&
    String(payload.username) === user(world.account.pn) &&
    connection.clientStatic.equals(companion.keys.noiseKey);
  if (!known) {
    refuse(401);
    return;
  }
  const other = companion.connection;
  if (other) {
    world.ledger.record({
      kind: 'login',
      at: Date.now(),
      device,
      outcome: 'replaced',
      reason: 'conflict',
      version,
      routingInfo: null,
    });
    other.send(el('stream:error', {}, [el('conflict', { type: 'replaced' })]));
    other.close();
  }
  log('accepted', null);
  companion.connection = connection;
  companion.active = false;
  connection.companion = companion;
  const { name } = world.account;
  connection.send(
    el('success', {
      t: seconds(),
      props: 1,
      lid: companion.lid,
      display_name: name,
      abprops: 1,
      companion_enc_static: randomBytes(32).toString('base64'),
    }),
  );
  if (world.faults.edgeRouting)
    connection.send(el('ib', {}, [el('edge_routing', {}, [el('routing_info', {}, Buffer.from([8, 2, 8, 5]))])]));
  const preview = companion.offlinePreview();
  if (preview) connection.send(preview);
  world.hooks.emit('login', companion);
}

/** The client has asked to be active: what waited goes out, and at the first time the phone sends its history. */
export function activate(world: World, connection: Connection): void {
  const companion = connection.companion!;
  if (companion.connection !== connection) return;
  companion.drain();
  world.hooks.emit('active', companion);
  if (companion.bootstrapped || !world.faults.sendsHistory) return;
  companion.bootstrapped = true;
  world.phone
    .bootstrap(companion)
    .catch((error) => world.ledger.problem(`history for device ${companion.device}: ${error}`));
}
