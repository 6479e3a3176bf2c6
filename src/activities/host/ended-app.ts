import type { App } from '../../adapters/kennel/kennel.ts';
import { codeFence, inline } from '../../domain/text/foreign-text.ts';
import type { Say } from '../../domain/texts/say.ts';
import { signalConversation } from '../../gateway/intake/signal.ts';
import { sayTo } from '../../store/chats/preferences.ts';
import { chatOfApp, markEnded } from '../../store/kennel/workspaces/apps.ts';
import { recordNotice } from '../../store/turns/complete-turn.ts';
import { printed } from '../../tools/workspace/command-text.ts';
import type { KennelDeps } from '../activity-deps.ts';

const LAST_LINES = 15;
const LAST_CHARS = 2_000;

/**
 * Tells the chat of an app that it has ended by itself. The message is stored under an id of the app's call before the
 * app counts as told, so a killed process tells it neither twice nor never. What is stored and not signalled is found
 * by reconciling.
 */
export async function tellEnd(
  deps: Pick<KennelDeps, 'db' | 'temporal' | 'config' | 'kennel' | 'host'>,
  app: App,
): Promise<void> {
  const { db, kennel, host } = deps;
  const chat = await chatOfApp(db, app.callId);
  if (!chat) return;
  const { chatId, channel, workflowId } = chat;
  const outboxId = `out_${app.callId.replace(/^call_/, 'app_')}_ended`;
  const log = printed(await kennel.apps.log(app.id, LAST_LINES)).trim();
  const sources = [{ kind: 'command' as const, label: inline(app.command, 60) }];
  await recordNotice(db, {
    chatId,
    outboxId,
    text: textOf(app, log.slice(-LAST_CHARS), await sayTo(db, chatId)),
    kind: 'notice',
    sources,
    unasked: 'task',
  });
  await markEnded(db, host, [], [app.callId]);
  await signalConversation(deps, {
    inboxId: outboxId,
    arrival: { kind: 'reply', inboxId: outboxId, outboxId },
    chatId,
    channel,
    workflowId,
  });
}

function textOf({ command: line, name: workspace, exitCode, outOfMemory }: App, log: string, say: Say): string {
  const command = inline(line, 120);
  const head = outOfMemory
    ? say('app.memory', { workspace, command })
    : say('app.ended', { workspace, command, code: String(exitCode) });
  return `${head}\n\n${log ? `${say('app.lastLines')}\n${codeFence(log)}` : say('app.nothing')}`;
}
