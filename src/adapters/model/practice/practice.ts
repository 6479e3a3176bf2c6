import { kennelStep } from './kennel-steps.ts';
import type { ScriptStep, Situation } from './script.ts';

/** A tool as the request offers it; `properties` are the names of its arguments. */
export interface OfferedTool {
  name: string;
  properties: string[];
}

/** Name of the routine and of the schedule that practice makes, so that it can also stop them. */
const ROUTINE = 'practice-minute';
const EVERY_MINUTE = '*/1 * * * *';

const HELP = `This is the practice model: no real model is configured, so nothing here thinks. It answers by fixed rules, and everything around it is real. Try:
- "ask me about lunch": a question with choices. Stop everything, start again, and the question is still there.
- "fetch https://example.com": reads a page.
- "progress": a progress report.
- "count to 100": a long answer, to interrupt with "stop", or to kill a process under.
- "every minute": a schedule that fires while nobody looks; "routines" lists, "stop schedule" ends it.
- "create workspace demo", then "task": a coding task in a container (it needs Docker). It waits, asks, and reports; kill what you like meanwhile. "undo" takes it back.
- "task: write notes.md hello; run ls": the practice agent follows what you say, step by step.
Set OPENAI_API_KEY, OPENROUTER_API_KEY or OPENAI_BASE_URL, or run "fetch setup", for a real model.`;

/** What the practice model does now. The same situation always gives the same answer. */
export function practiceStep(situation: Situation, tools: readonly OfferedTool[]): ScriptStep {
  const { user, step, last, system } = situation;
  const text = user.trim();
  const word = text.toLowerCase();
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  /** calls a tool at the step that is due, or says that it is not there */
  const use = (name: string, args: Array<[aliases: string[], value: unknown]>, say: string): ScriptStep => {
    const tool = offered.get(name);
    if (!tool) return { say: `Practice: I would call ${name} here, but this request offers no such tool.` };
    return { say, call: [[name, named(tool, args)]] };
  };

  if (tools.length === 0 && /summar|compact/i.test(system)) return { say: `Practice summary: ${clip(text.replace(/\s+/g, ' '), 400)}` };

  const kennel = kennelStep(situation, use);
  if (kennel) return kennel;

  const url = /\b(?:fetch|read|open)\s+((?:https?:\/\/)?[\w-]+(?:\.[\w-]+)*(?::\d+)?(?:\/\S*)?)/i.exec(text)?.[1];
  if (/\bask me\b/.test(word)) {
    if (step > 0)
      return {
        say: `Practice: you answered "${clip(answerOf(last), 200)}". I waited for it without costing anything, and would have waited through any restart.`,
      };
    const topic = /\bask me\s+(?:a question\s*)?(?:about\s+)?(.*)/i.exec(text)?.[1]?.replace(/(?<![.?!])[.?!]+$/, '') || 'colours';
    return use(
      'ask_user',
      [
        [['question'], `Practice question on ${clip(topic, 100)}: which one is it?`],
        [
          ['options', 'choices'],
          ['The first', 'The second', 'Neither of them'],
        ],
      ],
      'Let me ask you.',
    );
  }
  if (url) {
    if (step > 0) return { say: `Practice: the page says "${titleOf(last)}".` };
    return use('web_fetch', [[['url'], /^https?:\/\//i.test(url) ? url : `https://${url}`]], 'I read the page.');
  }
  if (/\b(stop|delete|remove|end|cancel)\b/.test(word) && /\b(schedule|cron|routine)/.test(word)) {
    if (step > 0) return { say: `Practice: done. The tool said: ${clip(last, 300)}` };
    return use('cron_delete', [[['name', 'cron', 'cronId', 'cron_id', 'id'], ROUTINE]], 'I stop the schedule.');
  }
  if (/\bevery minute\b|\bschedule\b/.test(word)) {
    const steps = [{ name: 'list', tool: 'workflow_list', args: {} }];
    if (step === 0) {
      return use(
        'workflow_create',
        [
          [['name'], ROUTINE],
          [['description'], 'Practice: lists the routines'],
          [['steps'], steps],
        ],
        'First the routine.',
      );
    }
    if (step === 1) {
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
      say: `Practice: the routine "${ROUTINE}" runs every minute (${EVERY_MINUTE}, UTC), also when no terminal is open, and its result comes to this chat. "routines" shows the next and the last run; "stop schedule" ends it. The tool said: ${clip(last, 300)}`,
    };
  }
  if (/\b(routines|schedules|crons?|list)\b/.test(word)) {
    if (step > 0) return { say: `Practice: here is what is scheduled.\n${clip(last, 2_000)}` };
    return use('cron_list', [], 'I look.');
  }
  if (/\bprogress\b/.test(word)) {
    if (step > 0) return { say: 'Practice: that was a progress report, sent while the turn was still running.' };
    return use(
      'report_progress',
      [
        [['message'], 'Practice: half way there'],
        [['percent'], 50],
      ],
      'I report.',
    );
  }
  const count = /\bcount (?:up )?to (\d+)/.exec(word)?.[1] ?? (/\blong\b/.test(word) ? '300' : undefined);
  if (count) {
    const numbers = Array.from({ length: Math.max(1, Math.min(600, Number(count))) }, (_, at) => at + 1);
    return { say: `Practice: ${numbers.join(' ')}`, pace: 200 };
  }
  if (/^(help|hi|hello|hey|hallo|good (morning|evening|day)|start|what can you do|who are you|\?)\b|^\?/.test(word) || word === '') return { say: HELP };
  return { say: `Practice (no real model is configured): you wrote "${clip(text, 200)}". Write "help" to see what can be tried.` };
}

/** Arguments under the names that the tool's own schema has; the first alias where the schema tells none of them. */
function named(tool: OfferedTool, args: Array<[aliases: string[], value: unknown]>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [aliases, value] of args) {
    const name = aliases.find((alias) => tool.properties.includes(alias)) ?? (tool.properties.length === 0 ? aliases[0] : undefined);
    if (name) result[name] = value;
  }
  return result;
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

/** The title of a fetched page: from JSON, a `Title:` line, a heading, else the first line. */
function titleOf(result: string): string {
  const title =
    parsed(result).title ?? /^[ \t]*title:[ \t]*(\S.*)$/im.exec(result)?.[1] ?? /^#+\s+(.+)$/m.exec(result)?.[1] ?? result.trim().split('\n')[0] ?? '';
  return clip(String(title).trim(), 200);
}
