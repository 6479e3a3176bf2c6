import { cancellationSignal } from '@temporalio/activity';
import type { ActInput } from '../../contracts/conversation.ts';
import { findCallWithChat, notePreview } from '../../store/turns/steps/calls.ts';
import { tools } from '../../tools/registry.ts';
import type { ActivityDeps, HostDeps } from '../activity-deps.ts';
import { beating } from '../heartbeat.ts';

/**
 * Stores with a call what its approval will show: the differences or the command. If that fails, the approval shows the
 * arguments.
 */
export const createPreview = (deps: Omit<ActivityDeps, 'model'> & HostDeps) =>
  beating(async ({ callId, threadId, turnId }: ActInput): Promise<void> => {
    const found = await findCallWithChat(deps.db, callId);
    const tool = tools.get(found?.name ?? '');
    if (!found || !tool?.preview) return;
    const text = await tool.preview(found.args as never, {
      ...deps,
      callId,
      chatId: found.chatId,
      threadId,
      turnId,
      signal: cancellationSignal(),
    });
    if (text) await notePreview(deps.db, callId, text);
  });
