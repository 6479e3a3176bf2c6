import { endpointOf } from '../../adapters/model/endpoint.ts';
import type { Config } from '../../config.ts';
import type { Identity } from '../../contracts/decision.ts';
import { askAgainText, parseAskAgain, parseAutonomy, parseCommand, parseEgress, parseShare } from '../../domain/chat/commands.ts';
import { helpText, type SetUp } from '../../domain/chat/help.ts';
import { parsePlanPreference, planPreferenceText } from '../../domain/chat/plan-words.ts';
import { parseSignOff } from '../../domain/chat/sign-off.ts';
import { mayTrust } from '../../domain/consent/policy.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { setPlanFirst } from '../../store/chats/threads.ts';
import { listHosts } from '../../store/kennel/hosts.ts';
import type { Db, Tx } from '../../store/postgres/database.ts';
import { isAsked } from '../../store/questions/questions.ts';
import { takeGrantsBack } from '../../store/steps/taint.ts';
import { beginAnew, trust } from '../../store/turns/replies.ts';
import { statusText } from '../../store/turns/status-text.ts';
import type { Meant } from '../once.ts';
import { addStop } from '../stop-and-steer.ts';
import { egress } from './egress.ts';
import { share } from './sharing.ts';
import { signOff } from './sign-off.ts';
import { taskOrder } from './task-orders.ts';

/** A message that may be a command. */
export interface CommandMessage {
  inboxId: string;
  text: string;
  by: Identity;
  /** a group chat */
  shared: boolean;
  /** the turn that runs now */
  turnId?: string;
}

/** Carries out a command without the model; `reply` is what the person is told. Null when the message is no command. */
export async function runCommand(tx: ThreadTransaction, config: Config, command: CommandMessage): Promise<Meant | { reply: string } | null> {
  const { inboxId, turnId, text } = command;
  const order = await taskOrder(tx.now, { chatId: tx.chatId, text, inboxId, turnRuns: turnId !== undefined });
  if (order) return 'reply' in order ? order : { arrival: order, turnId: null };
  if (parseCommand(text) === 'stop' && turnId) return { arrival: addStop(tx, { turnId, inboxId }), turnId };
  const reply = (await wordReply(tx, config, command)) ?? (await trustReply(tx, config, command));
  return reply === null ? null : { reply };
}

/** `stop`, `status`, `help`, `/new` */
async function wordReply({ now, threadId, chatId }: ThreadTransaction, config: Config, { text, turnId }: CommandMessage): Promise<string | null> {
  switch (parseCommand(text)) {
    case 'stop':
      return 'Nothing is running, so there is nothing to stop.';
    case 'status':
      return await statusText(now, threadId, chatId);
    case 'help':
      return helpText(await setUpOf(now, config));
    case 'new':
      return turnId ? 'I am still at work. Say `stop` first, then `/new`.' : await beginAnew(now, threadId);
    default:
      return null;
  }
}

/** `ask again`, `share demo with …`, `sign as …`, `plan on`, `egress`, `supervised`, `cautious`, `autonomous` */
async function trustReply({ now, threadId, chatId }: ThreadTransaction, config: Config, { text, by, shared }: CommandMessage): Promise<string | null> {
  const sink = parseAskAgain(text);
  if (sink !== undefined) return askAgainText(await takeGrantsBack(now, chatId, sink));
  const order = parseShare(text);
  if (order) return await share(now, config, order, mayTrust(by));
  const sign = parseSignOff(text);
  if (sign) return await signOff(now, sign, { chatId, owned: mayTrust(by), shared });
  const plans = parsePlanPreference(text);
  if (plans) return plans === 'on' || mayTrust(by) ? await preferPlans(now, threadId, plans) : 'Only the owner lets tasks begin without a plan.';
  const hosts = parseEgress(text);
  if (hosts) return await egress(now, config, hosts, { chatId, owned: mayTrust(by) });
  const autonomy = parseAutonomy(text);
  // while a question is open, the bare word is its answer
  if (!autonomy || (!text.trim().startsWith('/') && (await isAsked(now, threadId)))) return null;
  return await trust(now, { threadId, chatId, autonomy, shared, owned: mayTrust(by) });
}

async function preferPlans(tx: Tx, threadId: string, plans: 'on' | 'off' | 'auto'): Promise<string> {
  await setPlanFirst(tx, threadId, { on: true, off: false, auto: null }[plans]);
  return planPreferenceText[plans];
}

/** What is set up right now: help mentions only that. */
export async function setUpOf(db: Db | Tx, config: Config): Promise<SetUp> {
  const hosts = await listHosts(db);
  return { practice: endpointOf(config) === null, tasks: hosts.some(({ alive, ready }) => alive && ready) };
}
