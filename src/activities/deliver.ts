import { cancellationSignal } from '@temporalio/activity';
import type { Config } from '../config.ts';
import { capabilitiesOf } from '../contracts/channels.ts';
import type { DeliverInput } from '../contracts/conversation.ts';
import type { Channel } from '../contracts/ids.ts';
import { fateOf } from '../domain/chat/preferences.ts';
import type { ChannelSender } from '../gateway/channels/channel.ts';
import { dropOutgoing, findOutgoing, holdBack, markSent } from '../store/chats/messages/outbox.ts';
import type { Db } from '../store/postgres/database.ts';
import { sends } from '../telemetry/metrics.ts';
import { annotate } from '../telemetry/tracing.ts';
import { fail } from './failure.ts';
import { beating } from './heartbeat.ts';

/**
 * Sends one outbox row on its channel, at most once per id: a row that was sent is not sent again. What nobody asked
 * for is sent as the person prefers. A screen disturbs nobody, so it shows everything at once.
 */
export const createDeliver = (deps: { db: Db; sender: ChannelSender; config: Pick<Config, 'FETCH_TIME_ZONE'> }) =>
  beating(async ({ outboxId }: DeliverInput): Promise<void> => {
    const row = await findOutgoing(deps.db, outboxId);
    if (!row) throw fail('NotFound', `Outbox row ${outboxId} is not in the database.`);
    if (row.state !== 'queued') return;
    if (row.unasked && capabilitiesOf(row.channel).screen === null) {
      const fate = fateOf(
        row.unasked,
        row.preferences,
        row.preferences.timeZone ?? deps.config.FETCH_TIME_ZONE,
        new Date(),
      );
      if (fate !== 'send') count(row.channel, fate === 'drop' ? 'dropped' : 'held');
      if (fate === 'drop') return await dropOutgoing(deps.db, outboxId, 'not wanted by the preferences of the chat');
      if (fate !== 'send') return await holdBack(deps.db, outboxId, fate);
    }
    try {
      await deps.sender.send(
        { id: row.id, address: row.address, kind: row.kind, body: row.body },
        cancellationSignal(),
      );
    } catch (error) {
      count(row.channel, 'failed');
      throw error;
    }
    count(row.channel, 'sent');
    await markSent(deps.db, outboxId);
  });

function count(channel: Channel, outcome: 'sent' | 'failed' | 'held' | 'dropped'): void {
  sends.add({ channel, outcome });
  annotate({ 'fetch.channel': channel, 'fetch.outcome': outcome });
}
