import { usage, version } from './about.ts';
import type { Command, CommandContext } from './command.ts';
import { clear, help, newConversation, status, stop } from './conversation.ts';
import { egressCommand } from './egress.ts';
import { toolsCommand } from './extensions.ts';
import { greeting } from './greeting.ts';
import { helpOf } from './help.ts';
import { forget, memories } from './memories.ts';
import { chooseModel, model } from './model.ts';
import { preferences } from './preferences.ts';
import { project, projects } from './projects.ts';
import { remind } from './remind.ts';
import { removeSchedule, schedules } from './schedules.ts';
import { shareCommand } from './sharing.ts';
import { signCommand } from './sign-off.ts';
import { orderCommand } from './task-orders.ts';
import { tasks } from './tasks.ts';
import { apps, bringIn, undo } from './tools.ts';
import { askAgain, autonomy, plan, plans } from './trust.ts';
import { trustedCommand } from './trusted.ts';

/** Every command, in the order in which a message is compared with them and in which `help` lists them. */
export const COMMANDS: readonly Command[] = [
  orderCommand,
  stop,
  status,
  help((context: CommandContext) => helpOf(context, COMMANDS)),
  bringIn,
  projects,
  project,
  plans,
  plan,
  tasks,
  undo,
  apps,
  remind,
  schedules,
  removeSchedule,
  newConversation,
  clear,
  autonomy,
  askAgain,
  preferences,
  memories,
  forget,
  egressCommand,
  toolsCommand,
  trustedCommand,
  shareCommand,
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
