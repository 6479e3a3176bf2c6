import type { Config } from '../../../config.ts';
import { withoutTrigger } from '../../../domain/chat/trigger.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import type { ThreadTransaction } from '../../../store/chats/thread-transaction.ts';
import { isAsked } from '../../../store/turns/questions/questions.ts';
import { usage, version } from './about.ts';
import type { Command, CommandContext, CommandMessage, Outcome } from './command.ts';
import { clear, help, newConversation, status, stop } from './conversation.ts';
import { toolsCommand } from './extensions.ts';
import { answerIn, exportChat, groups } from './groups.ts';
import { greeting, helpOf } from './help.ts';
import { forget, memories } from './memories.ts';
import { chooseModel, model } from './model.ts';
import { preferences, signCommand } from './preferences.ts';
import { checkCommand, egressCommand, profileCommand, project, projects } from './projects.ts';
import { remind, removeSchedule, schedules, stopSchedule } from './schedules.ts';
import { choice, orderCommand, parts, tasks, tellCommand, together } from './tasks.ts';
import { apps, bringIn, diff, give, ship, take, undo } from './tools.ts';
import { askAgain, autonomy, judged, plan, plans, rules } from './trust.ts';
import { shareCommand, telegramCommand, trustedCommand } from './trusted.ts';

/** Every command, in the order in which a message is compared with them and in which `help` lists them. */
export const COMMANDS: readonly Command[] = [
  orderCommand,
  tellCommand,
  stop,
  status,
  help((about, context) => helpOf(about, context, COMMANDS)),
  bringIn,
  projects,
  project,
  profileCommand,
  checkCommand,
  plans,
  plan,
  together,
  choice,
  parts,
  tasks,
  undo,
  ship,
  take,
  give,
  apps,
  diff,
  remind,
  schedules,
  removeSchedule,
  stopSchedule,
  newConversation,
  clear,
  autonomy,
  judged,
  rules,
  askAgain,
  preferences,
  memories,
  forget,
  egressCommand,
  toolsCommand,
  trustedCommand,
  shareCommand,
  telegramCommand,
  groups,
  answerIn,
  exportChat,
  signCommand,
  usage,
  model,
  chooseModel,
  version,
  greeting,
];

/**
 * Whether a message must not wait for others that may belong to it. It may still turn out to be an answer, or words for
 * the model.
 */
export const isCommand = (text: string): boolean =>
  COMMANDS.some(({ parse, mayContinue }) => !mayContinue && parse(text) !== null);

/** Carries out the command that a whole message is, without the model. Null when it is none. */
export async function runCommand(
  tx: ThreadTransaction,
  config: Config,
  message: CommandMessage,
  afterwards: CommandContext['afterwards'],
): Promise<Outcome> {
  // where nobody else writes, the trigger is not needed and people write it all the same
  const text = withoutTrigger(message.text, config.FETCH_TRIGGER)?.trim() ?? message.text;
  const context: CommandContext = { ...message, text, tx, config, afterwards, owned: mayTrust(message.by) };
  for (const each of COMMANDS) {
    const asked = each.parse(text);
    const outcome = asked === null ? null : await run(each, asked, context);
    if (outcome !== null) return outcome;
  }
  return null;
}

async function run(each: Command, asked: unknown, context: CommandContext): Promise<Outcome> {
  const { tx, text, owned, say } = context;
  const { mayAnswer } = each;
  if (mayAnswer && !text.trim().startsWith('/') && (await isAsked(tx.now, tx.threadId, mayAnswer === 'question')))
    return null;
  const refused = owned ? null : each.ownersOnly?.(asked);
  return refused ? say(refused) : await each.run(asked, context);
}
