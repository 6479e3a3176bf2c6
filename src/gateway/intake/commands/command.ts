import type { Client } from '@temporalio/client';
import type { Config } from '../../../config.ts';
import type { Identity } from '../../../contracts/decision.ts';
import { plainWords } from '../../../domain/chat/words/commands.ts';
import type { HelpKey, HelpTopic } from '../../../domain/chat/words/help.ts';
import type { Say, TextKey } from '../../../domain/texts/say.ts';
import type { ThreadTransaction } from '../../../store/chats/thread-transaction.ts';
import type { Meant } from '../once.ts';

/** A message that may be a command. */
export interface CommandMessage {
  inboxId: string;
  text: string;
  by: Identity;
  /** our texts in the language of the person */
  say: Say;
  /** a group chat */
  shared: boolean;
  /** the turn that runs now */
  turnId?: string;
}

/** A command with what its handler works with. */
export interface CommandContext extends CommandMessage {
  tx: ThreadTransaction;
  config: Config;
  /** what is done once all of this is stored, as soon as may be; the sweeper does it where a crash comes first */
  afterwards(act: (temporal: Client) => Promise<unknown>): void;
  /** the owner says it: at the terminal, with the token, or from the owner's number */
  owned: boolean;
}

/**
 * What a command comes to. A text is the reply. `turn`: a turn begins with these words, whose tool is known without a
 * model. Null: it was about something else after all, and goes on as a message.
 */
export type Outcome = string | { turn: string } | Meant | null;

/** One thing that can be said without a model. A new one is one entry in `table.ts`. */
export interface Command<Asked = unknown> {
  /** texts of the lines of `help`, each with words to say; empty where another line explains it */
  help: readonly HelpKey[];
  /** the topic of `help` that has these lines, besides `help all` */
  topic?: HelpTopic;
  /**
   * what a whole message asks for; null for every other message, so that a sentence which contains the words is never
   * swallowed
   */
  parse(text: string): Asked | null;
  /** why somebody who is not the owner may not say this; null when everybody may */
  ownersOnly?(asked: Asked): Extract<TextKey, `owner.${string}`> | null;
  /**
   * While something is asked, the bare word is its answer; with a slash it is the command. `question`: it answers a
   * question, and no approval.
   */
  mayAnswer?: boolean | 'question';
  /** may be the beginning of a longer message, so it waits for the rest */
  mayContinue?: boolean;
  run(asked: Asked, context: CommandContext): Promise<Outcome>;
}

/** Keeps the type of `parse` for `run`, while a list of commands has one type. */
export const command = <Asked>(declared: Command<Asked>): Command => declared as unknown as Command;

/**
 * A command that is one of these words or sentences and nothing else. A slash before it does not count; a word with a
 * slash here needs it.
 */
export const saying =
  (...words: readonly string[]) =>
  (text: string): true | null => {
    const said = plainWords(text);
    return words.includes(said) || (text.trim().startsWith('/') && words.includes(`/${said}`)) || null;
  };
