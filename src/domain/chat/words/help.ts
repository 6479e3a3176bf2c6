import { english, type Say } from '../../texts/say.ts';
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

/** Words besides commands. */
const MORE: ReadonlyArray<{ topic?: HelpTopic; line: string }> = [
  { line: 'a message while I work steers me at the next step' },
  {
    line: 'a question is answered by its number, by a word, or in your own words; it waits for you. While one waits, words such as `/tasks` and `/autonomous` need their slash',
  },
  {
    topic: 'trust',
    line: 'an approval is answered with `yes`, `no`, `skip` (go on without it), `always` (and stop asking) or `yes all` (and everything after it in this chat), or with 👍 or 👎',
  },
  {
    topic: 'trust',
    line: 'after I have read text of others, I ask before something leaves this machine or has a lasting effect; `yes always for fetch` (or `push`, `schedule`, …) allows that for good in this chat',
  },
  {
    topic: 'trust',
    line: '`more` shows the rest or the details of an approval; where several questions wait, `yes 2` names one',
  },
];

/** A line of help for each thing that works without a model. */
export interface HelpLine {
  topic?: HelpTopic | undefined;
  line: string;
}

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
export function helpText(about: AskedHelp, commands: readonly HelpLine[]): string {
  const fits = ({ topic }: HelpLine): boolean => about === 'all' || topic === about;
  const listed = (lines: readonly HelpLine[]): string[] => lines.filter(fits).map(({ line }) => `- ${line}`);
  const more = listed(MORE);
  return [
    ...(about === 'all' ? ['Words that need no model:'] : []),
    ...listed(commands),
    ...(more.length > 0 ? ['', 'Good to know:', ...more] : []),
  ].join('\n');
}
