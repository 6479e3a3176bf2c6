import { english, type Say, type TextKey } from '../../texts/say.ts';
import { parseCommand, plainWords } from './commands.ts';

/** The parts of the set-up that decide what is worth trying. */
export interface SetUp {
  /** the practice model answers, which knows only fixed sentences */
  practice: boolean;
  /** a host for coding tasks is available */
  tasks: boolean;
}

/** Three messages to send as they are, each with what it shows. */
export function thingsToTry({ practice, tasks }: SetUp, say: Say = english): string[] {
  if (practice) return [say('try.lunch'), say(tasks ? 'try.task' : 'try.count'), say('try.minute')];
  return [say(tasks ? 'try.page' : 'try.job'), say('try.read'), say('try.weekday')];
}

const numbered = (setUp: SetUp, say: Say): string[] =>
  thingsToTry(setUp, say).map((thing, index) => `${index + 1}. ${thing}`);

/** The reply to a greeting at the beginning of a conversation. */
export function greetingText(setUp: SetUp, name?: string, say: Say = english): string {
  const hello = name ? say('hello.named', { name }) : say('hello.plain');
  return [
    setUp.practice ? `${hello} ${say('hello.practice')}` : hello,
    '',
    say('hello.try'),
    ...numbered(setUp, say),
    '',
    say('hello.help'),
  ].join('\n');
}

/** The topics of `help`. */
export type HelpTopic = 'tasks' | 'schedules' | 'trust';

/** What else is asked for: one topic, or everything. Null: what to try, in a few words. */
export type AskedHelp = HelpTopic | 'all';

export function parseHelp(text: string): { about: AskedHelp | null } | null {
  const about = /^help (tasks|schedules|trust|all)$/.exec(plainWords(text))?.[1];
  if (about !== undefined) return { about: about as AskedHelp };
  return parseCommand(text) === 'help' ? { about: null } : null;
}

/** The text of a line of help. */
export type HelpKey = Extract<TextKey, `helps.${string}`>;

/** A line of help for each thing that works without a model. */
export interface HelpLine {
  topic?: HelpTopic | undefined;
  line: HelpKey;
}

/** Words besides commands. */
const MORE: readonly HelpLine[] = [
  { line: 'helps.steer' },
  { line: 'helps.question' },
  { topic: 'trust', line: 'helps.approval' },
  { topic: 'trust', line: 'helps.others' },
  { topic: 'trust', line: 'helps.more' },
];

/** What to try first, and the words that everybody needs: what is read at a glance on a phone. */
export const shortHelp = (setUp: SetUp, say: Say = english): string =>
  [
    say('help.write'),
    // without what each shows
    ...numbered(setUp, say).map((thing) => thing.replace(/`\s?: .*/, '`')),
    '',
    say('help.words'),
    '',
    say('help.more'),
  ].join('\n');

/** Everything about one topic, or about all. */
export function helpText(about: AskedHelp, commands: readonly HelpLine[], say: Say = english): string {
  const fits = ({ topic }: HelpLine): boolean => about === 'all' || topic === about;
  const listed = (lines: readonly HelpLine[]): string[] => lines.filter(fits).map(({ line }) => `- ${say(line)}`);
  const more = listed(MORE);
  return [
    ...(about === 'all' ? [say('helps.title')] : []),
    ...listed(commands),
    ...(more.length > 0 ? ['', say('helps.know'), ...more] : []),
  ].join('\n');
}
