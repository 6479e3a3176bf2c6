import { tools } from '../../src/tools/registry.ts';

/**
 * What a message to a person must not say unless they asked for details: ids, JSON, cron expressions, names of tools and
 * settings, paths of the server.
 */
const MACHINE: ReadonlyArray<[what: string, like: RegExp]> = [
  ['an id', /\b(?:tsk|cron|thr|turn|wfr?|mem|call|item|msg|out|app)[_-][\w-]*\d[\w-]{2,}/i],
  ['JSON', /[{[]\s*"[^"\n]{1,60}"\s*[:,\]]/],
  ['a cron expression', /(?<![\w*/,-])(?:(?:\*(?:\/\d+)?|\d[\d,/-]*)\s+){4}(?:\*|[\dA-Z][\dA-Z,/-]*)(?![\w*])/],
  ['a setting', /\b(?:FETCH|OPENAI|OPENROUTER|AGENT|TEMPORAL)_[A-Z][A-Z_]+\b/],
  ['a path of the server', /(?<![\w/.])\/(?:home|root|var|tmp|opt|srv|usr)\/\S+/],
  ['a line of git', /^(?:diff --git |index [0-9a-f]{7,}|@@ -\d)/m],
];
const TOOL = /\b[a-z]+(?:_[a-z]+)+\b/g;

/** What a message says of the machine, in words; empty when it is fit for a phone. */
export function machineWordsIn(text: string): string[] {
  const found = MACHINE.flatMap(([what, like]) => {
    const [said] = like.exec(text) ?? [];
    return said === undefined ? [] : [`${what}: ${said}`];
  });
  const named = (text.match(TOOL) ?? []).filter((word) => tools.has(word)).map((word) => `a tool: ${word}`);
  return [...found, ...new Set(named)];
}
