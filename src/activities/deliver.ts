import { cancellationSignal } from '@temporalio/activity';
import type { ChannelSender } from '../channels/channel.ts';
import type { DeliverInput } from '../contracts/conversation.ts';
import { findOutgoing, markSent } from '../store/chats/outbox.ts';
import type { Db } from '../store/postgres/database.ts';
import { fail } from './failure.ts';
import { beating } from './heartbeat.ts';

/** Sends one outbox row on its channel, at most once per id: a row that was sent is not sent again. */
export const createDeliver = (deps: { db: Db; sender: ChannelSender }) =>
  beating(async ({ outboxId }: DeliverInput): Promise<void> => {
    const row = await findOutgoing(deps.db, outboxId);
    if (!row) throw fail('NotFound', `Outbox row ${outboxId} is not in the database.`);
    if (row.state !== 'queued') return;
    await deps.sender.send({ id: row.id, address: row.address, kind: row.kind, body: row.body }, cancellationSignal());
    await markSent(deps.db, outboxId);
  });
