import { describeTime } from '../../domain/cron.ts';
import { moneyText, tokensText } from '../../domain/model/price-book.ts';
import { stateText } from '../../domain/shipping/texts.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { DAY, MINUTE } from '../../domain/time.ts';
import { cut } from '../chats/ids.ts';
import { heldIn, zoneOf } from '../chats/preferences.ts';
import { namesOf, openShipments } from '../kennel/shipments/shipments.ts';
import { tasksOfChat } from '../kennel/tasks/tasks.ts';
import { runningAppsOf } from '../kennel/workspaces/apps.ts';
import { activeWorkspace, profileOfWorkspace } from '../kennel/workspaces/workspaces.ts';
import type { Tx } from '../postgres/database.ts';
import { waitedForPeople } from '../turns/questions/questions.ts';
import { waitOfTurn } from '../turns/steps/model-waits.ts';
import { spentToday } from '../turns/steps/spending.ts';
import { grantsOf } from '../turns/steps/taint.ts';
import { deliveryFigures } from '../whatsapp/sends.ts';

/**
 * The running work, what it waits for, and the spend of today. It reads only the store, so it works while the model is
 * down.
 */
export async function statusText(
  tx: Tx,
  threadId: string,
  chatId: string,
  settings: { FETCH_TIME_ZONE: string },
  say: Say = english,
): Promise<string> {
  const zone = await zoneOf(tx, chatId, settings);
  const active = await tx
    .selectFrom('turns')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('status', '=', 'in_progress')
    .executeTakeFirst();
  const open = await tx
    .selectFrom('questions')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('state', '=', 'open')
    .execute();
  const calls = active
    ? await tx.selectFrom('calls').select(['name', 'args', 'state']).where('turn_id', '=', active.id).execute()
    : [];
  const today = await spentToday(tx, chatId, settings.FETCH_TIME_ZONE);
  const lines: string[] = [];
  if (active) {
    const ms = Date.now() - (active.started_at ?? active.created_at).getTime();
    const waitedMs = await waitedForPeople(tx, { turnId: active.id });
    const waited = waitedMs >= MINUTE ? say('status.waited', { span: longSpan(waitedMs, say) }) : '';
    lines.push(`${longSpan(ms, say)}${waited}: ${cut(active.input_summary, 120)}`);
    const running = calls.filter((call) => call.state === 'running').map(doingOf);
    const wait = await waitOfTurn(tx, active.id);
    if (wait) lines.push(say('status.waits', { what: wait }));
    if (running.length > 0) lines.push(say('status.running', { what: running.join(', ') }));
  }
  const tasks = await tasksOfChat(tx, chatId, { live: true, limit: 10 });
  if (!active && tasks.length === 0) lines.push(say('status.nothing'));
  for (const task of tasks) {
    const ms = Date.now() - (task.started_at ?? task.created_at).getTime();
    const span = longSpan(ms - (await waitedForPeople(tx, { taskId: task.id })), say);
    const { workspace, state } = task;
    lines.push(say('status.task', { workspace, state, span, what: inline(task.last ?? task.goal, 120) }));
  }
  for (const shipment of await openShipments(tx, chatId)) {
    const { name, url } = namesOf(shipment);
    lines.push(say('ship.state', { name, state: stateText(shipment, say), url: url ? `: ${url}` : '' }));
  }
  const place = await workspaceLine(tx, chatId, say);
  if (place) lines.push(place);
  for (const { workspace, command, address } of await runningAppsOf(tx, chatId))
    lines.push(say('status.app', { workspace, what: [inline(command, 120), address].filter(Boolean).join(', ') }));
  for (const { prompt } of open) lines.push(say('status.question', { question: inline(prompt, 200) }));
  const { count, until } = await heldIn(tx, chatId);
  if (until) lines.push(say('status.quiet', { count, time: describeTime(until, zone) }));
  const grants = [...(await grantsOf(tx, chatId))];
  if (grants.length > 0) lines.push(say('status.allowed', { what: grants.join(', ') }));
  lines.push(say('status.today', { tokens: tokensText(today.tokens), money: moneyText(today, say) }));
  const { failed } = await deliveryFigures(tx, { chatId }, new Date(Date.now() - DAY));
  if (failed > 0) lines.push(say('status.unsent', { count: failed }));
  return lines.join('\n');
}

/** What a call does, in a few words: its command, or the name of its tool without underscores. */
const doingOf = ({ name, args }: { name: string; args: Record<string, unknown> }): string =>
  typeof args.command === 'string' ? inline(args.command, 60) : name.replaceAll('_', ' ');

function longSpan(ms: number, say: Say): string {
  const minutes = Math.floor(ms / MINUTE);
  if (minutes === 0) return say('span.seconds', { count: Math.max(0, Math.round(ms / 1000)) });
  return say('span.minutes', { count: minutes });
}

/** The active workspace, with its branch and changes as they were when a tool last looked. */
async function workspaceLine(tx: Tx, chatId: string, say: Say): Promise<string | null> {
  const active = await activeWorkspace(tx, chatId);
  if (!active) return null;
  const git = (await profileOfWorkspace(tx, active))?.git;
  const changes = git ? git.modified + git.untracked : 0;
  const state = git
    ? [
        git.branch ? say('status.branch', { branch: inline(git.branch, 80) }) : say('status.detached'),
        ...(changes > 0 ? [say('status.changed', { count: changes })] : []),
      ]
    : [];
  return say('status.workspace', { what: [active.name, ...state].join(', ') });
}
