/** The parts of the set-up that decide what is worth trying. */
export interface SetUp {
  /** the practice model answers, which knows only fixed sentences */
  practice: boolean;
  /** a host for coding tasks is available */
  tasks: boolean;
}

/** Three messages to send as they are, each with what it shows. */
export function thingsToTry({ practice, tasks }: SetUp): string[] {
  if (practice)
    return [
      '`ask me about lunch`: a question that waits for you, also while everything is stopped',
      tasks
        ? '`create workspace demo`, then `task`: a coding task in a container, which asks you something'
        : '`count to 100`, and `stop` in the middle of it',
      '`every minute`: a schedule that runs while nobody looks; `stop schedule` ends it',
    ];
  return [
    tasks
      ? '`make a workspace named demo, and in it a page that shows the time`: a coding task in a container, which reports when it is done'
      : '`ask me three questions, one after the other, and guess my job`: a question waits for you, also while everything is stopped',
    '`read https://example.com and tell me what it is for`: a page, in short',
    '`every weekday at 8:30, tell me which day it is`: a schedule that runs while nobody looks',
  ];
}

const numbered = (setUp: SetUp): string[] => thingsToTry(setUp).map((thing, index) => `${index + 1}. ${thing}`);

/** The reply to a greeting at the beginning of a conversation. */
export const greetingText = (setUp: SetUp, name?: string): string =>
  [
    `Hello${name ? `, ${name}` : ''}! Write what you need in your own words.${setUp.practice ? ' No real model is set up yet, so the practice model answers.' : ''}`,
    '',
    'Three things to try:',
    ...numbered(setUp),
    '',
    '`help` shows what else there is.',
  ].join('\n');

/** What can be said besides commands. */
const MORE = [
  '- a message while I work steers me at the next step',
  '- a question is answered by its number, by a word, or in your own words; it waits for you. While one waits, words such as `/tasks` and `/autonomous` need their slash',
  '- an approval is answered with `yes`, `no`, `skip` (go on without it) or `yes all` (and everything after it in this chat), or with 👍 or 👎',
  '- after I have read text of others, I ask before something leaves this machine or has a lasting effect; `yes always for fetch` (or `push`, `schedule`, …) allows that for good in this chat',
  '- `more` shows the rest of a long approval; where several questions wait, `yes 2` names one',
];

/** `commands`: a line for each thing that works without a model. */
export const helpText = (setUp: SetUp, commands: readonly string[]): string =>
  [
    'Write what you need in your own words. I think in steps, use tools, and ask when I need you.',
    '',
    'Three things to try:',
    ...numbered(setUp),
    '',
    'Words that need no model:',
    ...commands.map((line) => `- ${line}`),
    '',
    'Good to know:',
    ...MORE,
  ].join('\n');
