import type { Config } from '../../../config.ts';
import { mayTrust } from '../../../domain/consent/policy.ts';
import { withoutTrigger } from '../../../domain/whatsapp/trigger.ts';
import type { ThreadTransaction } from '../../../store/chats/thread-transaction.ts';
import { isAsked } from '../../../store/turns/questions/questions.ts';
import type { Command, CommandContext, CommandMessage, Outcome } from './command.ts';
import { COMMANDS } from './table.ts';

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
  const { tx, text, owned } = context;
  const { mayAnswer } = each;
  if (mayAnswer && !text.trim().startsWith('/') && (await isAsked(tx.now, tx.threadId, mayAnswer === 'question')))
    return null;
  return (!owned && each.ownersOnly?.(asked)) || (await each.run(asked, context));
}
