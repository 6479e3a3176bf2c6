import { withoutIds } from '../../../domain/chat/words/step-words.ts';
import type { ScriptStep, Use } from './script.ts';
import type { Situation } from './situation.ts';

/** Name of the routine and schedule that practice creates, so that it can also stop them. */
const ROUTINE = 'what is scheduled';
const EVERY_MINUTE = '*/1 * * * *';

const HELP = `This is the practice model: no real model is set up, so nothing here thinks. Everything around it is real. Try:
- "ask me about lunch": a question with choices. Stop everything, start again, and the question is still there.
- "fetch https://example.com": reads a page.
- "progress": a progress report.
- "count to 100": a long answer, to interrupt with "stop".
- "every minute": a schedule that runs while nobody looks; "schedules" lists it, "stop schedule" ends it.
- "create workspace demo", then "task": a coding task in a container (it needs Docker). It waits, asks, and reports. "undo" takes it back.
- "task: write notes.md hello; run ls": the practice agent does what you say, step by step.
A real model is set up on your page under Settings, Model.`;

/** The input of the rules. `word` is the message in lower case. */
interface RuleInput extends Situation {
  text: string;
  word: string;
}

/** One thing that the practice model knows; null when a message is about something else. */
type Rule = (said: RuleInput, use: Use) => ScriptStep | null;

const ask: Rule = ({ text, word, step, last }, use) => {
  if (!/\bask me\b/.test(word)) return null;
  if (step > 0)
    return {
      say: `You chose "${clip(answerOf(last), 200)}". I waited for it without costing anything, and would have waited through any restart.`,
    };
  const topic =
    /\bask me\s+(?:a question\s*)?(?:about\s+)?(.*)/i.exec(text)?.[1]?.replace(/(?<![.?!])[.?!]+$/, '') || 'colours';
  const [question, options] = /^(?:lunch|dinner|food)$/i.test(topic)
    ? ['What shall we have?', ['Pizza', 'Salad', 'Nothing today']]
    : [`Do you like ${clip(topic, 100)}?`, ['Very much', 'A little', 'Not at all']];
  return use(
    'ask_user',
    [
      [['question'], question],
      [['options', 'choices'], options],
    ],
    'Let me ask you.',
  );
};

const readPage: Rule = ({ text, step, last }, use) => {
  // "open the door" names no page: an address has a scheme, a dot or a port
  const url = /\b(?:fetch|read|open)\s+(https?:\/\/\S+|[\w-]+(?:(?:\.[\w-]+)+(?::\d+)?|:\d+)(?:\/\S*)?)/i.exec(
    text,
  )?.[1];
  if (!url) return null;
  if (step > 0) return { say: `The page says "${titleOf(last)}".` };
  return use('web_fetch', [[['url'], /^https?:\/\//i.test(url) ? url : `https://${url}`]], 'I read the page.');
};

const stopSchedule: Rule = ({ word, step, last }, use) => {
  if (!/\b(stop|delete|remove|end|cancel)\b/.test(word) || !/\b(schedule|cron|routine)/.test(word)) return null;
  if (step > 0) return { say: clip(withoutIds(last), 300) };
  return use('cron_delete', [[['cron', 'name', 'cronId', 'cron_id', 'id'], ROUTINE]], 'I stop the schedule.');
};

const schedule: Rule = ({ word, step, last }, use) => {
  if (!/\bevery minute\b|\bschedule\b/.test(word)) return null;
  if (step === 0) {
    return use(
      'workflow_create',
      [
        [['name'], ROUTINE],
        [['description'], 'Lists what runs by itself'],
        [['steps'], [{ name: 'list', tool: 'cron_list', args: {} }]],
        [['schedule'], EVERY_MINUTE],
      ],
      'I make a routine, and its schedule.',
    );
  }
  // tools of another program may take no schedule with the routine
  if (step === 1 && !last.includes('Scheduled "')) {
    return use(
      'cron_create',
      [
        [['workflow', 'workflowName', 'workflow_name', 'workflowId', 'workflow_id', 'routine'], ROUTINE],
        [['schedule', 'cron', 'expression'], EVERY_MINUTE],
        [['name'], ROUTINE],
      ],
      'Then its schedule.',
    );
  }
  return {
    say: `${clip(withoutIds(last), 300)} It runs while nobody looks, and its result comes here. \`stop schedule\` ends it.`,
  };
};

const listSchedules: Rule = ({ word, step, last }, use) => {
  if (!/\b(routines|schedules|crons?|list)\b/.test(word)) return null;
  if (step > 0) return { say: clip(withoutIds(last), 2_000) };
  return use('cron_list', [], 'I look.');
};

const progress: Rule = ({ word, step }, use) => {
  if (!/\bprogress\b/.test(word)) return null;
  if (step > 0) return { say: 'That was a progress report, sent while I was still at work.' };
  return use(
    'report_progress',
    [
      [['message'], 'Half way there'],
      [['percent'], 50],
    ],
    'I report.',
  );
};

const count: Rule = ({ word }) => {
  const to = /\bcount (?:up )?to (\d+)/.exec(word)?.[1] ?? (/\blong\b/.test(word) ? '300' : undefined);
  if (!to) return null;
  const numbers = Array.from({ length: Math.max(1, Math.min(600, Number(to))) }, (_, at) => at + 1);
  return { say: `Practice: ${numbers.join(' ')}`, pace: 200 };
};

const help: Rule = ({ word }) =>
  /^(help|hi|hello|hey|hallo|good (morning|evening|day)|start|what can you do|who are you|\?)\b|^\?/.test(word) ||
  word === ''
    ? { say: HELP }
    : null;

/** The first rule that knows a message answers it. */
const RULES: readonly Rule[] = [ask, readPage, stopSchedule, schedule, listSchedules, progress, count, help];

/** A summary was requested; null when it was not. */
export const summaryStep = ({ system, user }: Situation): ScriptStep | null =>
  /^sum up\b|summar|compact/i.test(system)
    ? { say: `Practice summary: ${clip(user.trim().replace(/\s+/g, ' '), 400)}` }
    : null;

/** The answers of the practice model in a chat. */
export function chatStep(situation: Situation, use: Use): ScriptStep {
  const text = situation.user.trim();
  const said: RuleInput = { ...situation, text, word: text.toLowerCase() };
  for (const rule of RULES) {
    const step = rule(said, use);
    if (step) return step;
  }
  return {
    say: `No real model is set up yet, so I know only a few sentences, and not "${clip(text, 200)}". Write \`help\` to see them.`,
  };
}

const clip = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

const parsed = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};

const answerOf = (result: string): string => String(parsed(result).answer ?? result).trim();

/** The title of a fetched page: from JSON, a `Title:` line, a heading, or the first line. */
function titleOf(result: string): string {
  const title =
    parsed(result).title ??
    /^[ \t]*title:[ \t]*(\S.*)$/im.exec(result)?.[1] ??
    /^#+\s+(.+)$/m.exec(result)?.[1] ??
    result.trim().split('\n')[0] ??
    '';
  return clip(String(title).trim(), 200);
}
