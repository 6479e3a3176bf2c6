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
      tasks ? '`create workspace demo`, then `task`: a coding task in a container, which asks you something' : '`count to 100`, and `stop` in the middle of it',
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

const help = [
  '- `stop` interrupts what is running; what was done is kept',
  '- a coding task works on by itself and reports; `pause`, `resume` and `stop` are for it when nothing else runs (`stop tsk_…` names one); `now` goes on although its model is at a limit, `now codex` with another agent',
  '- `clone https://…` and `open /path/of/a/folder` bring in a project of yours, `as NAME` under another name; in a terminal, drag its folder here',
  '- `sign as Ada Lovelace <ada@example.com>` gives the commits your name, `sign as me` the one that git has on this machine',
  '- `plan: …` has a coding task begin with a plan: it comes as a message, any words of yours change it, `yes` begins the work and `no` ends it; `plan on` does that for each task of this chat, `plan off` for none, `plan auto` for big ones',
  '- `status` says what is running, what it waits for and what it has used',
  '- a message while I work steers me at the next step',
  '- a question is answered by its number, by a word, or in your own words; it waits for you',
  '- `egress` lists the hosts that tasks here may reach; `egress remove example.com` takes one back. A task that wants another host asks you',
  '- `share demo with +49 170 1234567` lets somebody whom you trust use a workspace; `unshare` takes it back, `shares` lists them',
  '- `/new` begins a new conversation: what was said and read before is left behind',
  '- `supervised`, `cautious` and `autonomous` set how much I do without asking; `supervised` also takes back a `yes all`',
  '- an approval is answered with `yes`, `no`, `skip` (go on without it) or `yes all` (and everything after it in this chat), or with 👍 or 👎',
  '- after I have read text of others, I ask before something leaves this machine or has a lasting effect; `yes always for fetch` (or `push`, `schedule`, …) allows that for good in this chat, `ask again` takes it back',
  '- `more` shows the rest of a long approval; where several questions wait, `yes 2` names one; while one waits, `/autonomous` and the like need their slash',
];

export const helpText = (setUp: SetUp): string =>
  [
    'Write what you need in your own words. I think in steps, use tools, and ask when I need you.',
    '',
    'Three things to try:',
    ...thingsToTry(setUp).map((thing, index) => `${index + 1}. ${thing}`),
    '',
    ...help,
  ].join('\n');
