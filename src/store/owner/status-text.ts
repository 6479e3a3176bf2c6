import { describeTime } from '../../domain/cron.ts';
import { moneyText, tokensText } from '../../domain/model/price-book.ts';
import { stateText } from '../../domain/shipping/texts.ts';
import { inline } from '../../domain/text/foreign-text.ts';
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
    const waited = waitedMs >= MINUTE ? `, of which ${longSpan(waitedMs)} waiting for you` : '';
    lines.push(`${longSpan(ms)}${waited}: ${cut(active.input_summary, 120)}`);
    const running = calls.filter((call) => call.state === 'running').map(doingOf);
    const wait = await waitOfTurn(tx, active.id);
    if (wait) lines.push(`Waiting for ${wait}`);
    if (running.length > 0) lines.push(`Running now: ${running.join(', ')}`);
  }
  const tasks = await tasksOfChat(tx, chatId, { live: true, limit: 10 });
  if (!active && tasks.length === 0) lines.push('Nothing is running.');
  for (const task of tasks) {
    const ms = Date.now() - (task.started_at ?? task.created_at).getTime();
    const worked = longSpan(ms - (await waitedForPeople(tx, { taskId: task.id })));
    lines.push(`The agent in ${task.workspace} is ${task.state}, ${worked}: ${inline(task.last ?? task.goal, 120)}`);
  }
  for (const shipment of await openShipments(tx, chatId)) {
    const { name, url } = namesOf(shipment);
    lines.push(`Pull request ${name} ${stateText(shipment.state)}${url ? `: ${url}` : ''} (\`ship stop\` ends that)`);
  }
  const place = await workspaceLine(tx, chatId);
  if (place) lines.push(place);
  for (const app of await runningAppsOf(tx, chatId))
    lines.push(
      `App in ${app.workspace}: ${inline(app.command, 120)}${app.address ? `, ${app.address}` : ''} (\`app stop\` ends it)`,
    );
  for (const question of open) lines.push(`Waiting for your answer: ${inline(question.prompt, 200)}`);
  const { count, until } = await heldIn(tx, chatId);
  if (until)
    lines.push(
      `Quiet hours: ${count} ${count === 1 ? 'message waits' : 'messages wait'} until ${describeTime(until, zone)}`,
    );
  const grants = [...(await grantsOf(tx, chatId))];
  if (grants.length > 0)
    lines.push(`Allowed for good in this chat: ${grants.join(', ')} (\`ask again\` takes it back)`);
  lines.push(`Today: ${tokensText(today.tokens)} tokens, ${moneyText(today)}`);
  const { failed } = await deliveryFigures(tx, { chatId }, new Date(Date.now() - DAY));
  if (failed > 0) lines.push(`${failed} of my messages here could not be sent in the last day`);
  return lines.join('\n');
}

/** What a call does, in a few words: its command, or the name of its tool without underscores. */
const doingOf = ({ name, args }: { name: string; args: Record<string, unknown> }): string =>
  typeof args.command === 'string' ? inline(args.command, 60) : name.replaceAll('_', ' ');

function longSpan(ms: number): string {
  const minutes = Math.floor(ms / MINUTE);
  if (minutes === 0) return `${Math.max(0, Math.round(ms / 1000))} seconds`;
  return minutes === 1 ? '1 minute' : `${minutes} minutes`;
}

/** The active workspace, with its branch and changes as they were when a tool last looked. */
async function workspaceLine(tx: Tx, chatId: string): Promise<string | null> {
  const active = await activeWorkspace(tx, chatId);
  if (!active) return null;
  const git = (await profileOfWorkspace(tx, active))?.git;
  const changes = git ? git.modified + git.untracked : 0;
  const state = git
    ? [git.branch ? `on ${inline(git.branch, 80)}` : 'on no branch', ...(changes > 0 ? [`${changes} changed`] : [])]
    : [];
  return `Active workspace: ${[active.name, ...state].join(', ')}`;
}
