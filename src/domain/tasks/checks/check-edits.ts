import type { CheckedBy, TestEdits } from '../../../contracts/workspace-ops.ts';
import { visible } from '../../text/foreign-text.ts';
import { english } from '../../texts/say.ts';

/** What a task did to the checks of a project, by its diff. A passing check says less where it was changed. */

const NAMES_SHOWN = 5;
const NAME_CHARS = 120;

/** Names are untrusted, so each is one line. */
export function nameList(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map((name) => {
    const line = visible(name)
      .replace(/[\s`]+/g, ' ')
      .trim();
    return `\`${line.length > NAME_CHARS ? `${line.slice(0, NAME_CHARS - 1)}…` : line}\``;
  });
  const more = names.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Sentences on the tests, by what is behind them, which decides the headline of tests that pass. */
export interface EditsText {
  /** tests are gone, skipped or compare less */
  weaker: string[];
  /** what runs them is not as before */
  changed: string[];
  /** what they compare with is not as before */
  expected: string[];
}

/**
 * `compared`: tests are known by name before and after, so that neither settings nor commands hide one. `hadTests`: some
 * ran before, as far as is known: settings that come with the first tests hide none.
 */
export function editsText(
  { weakened, settings, scripts = [], expected = [], hooks = [], packages = [] }: TestEdits,
  { compared, hadTests }: { compared: boolean; hadTests: boolean },
): EditsText {
  const files = weakened.slice(0, NAMES_SHOWN).map(({ path, tests: [had, has], checks, skips }) => {
    const file = nameList([path]);
    if (has === 0 && had === 1) return english('verdict.oneGone', { file });
    if (has === 0 && had > 0) return english('verdict.allGone', { file, count: had });
    if (has < had) return english('verdict.had', { file, before: had, now: has });
    if (skips[1] > skips[0]) return english('verdict.skips', { file });
    return english('verdict.compares', { file, before: checks[0], now: checks[1] });
  });
  const more = weakened.length - files.length;
  const hides = hadTests && !compared;
  const commands = hides ? scripts.filter(({ part }) => part === 'test') : [];
  const told = commands.flatMap((script) => lessText(script) ?? []);
  const toldOf = new Set(commands.flatMap((script) => (lessText(script) ? [script.path] : [])));
  const others = hides ? settings.filter((path) => !toldOf.has(path) && !hooks.includes(path)) : [];
  return {
    weaker: [...files, ...(more > 0 ? [english('verdict.same', { count: more })] : [])],
    changed: [
      ...told,
      ...(hooks.length > 0 ? [english('verdict.hooks', { names: nameList(hooks) })] : []),
      ...(packages.length > 0 ? [english('verdict.packages', { names: nameList(packages) })] : []),
      ...(others.length > 0 ? [english('verdict.settings', { names: nameList(others) })] : []),
    ],
    expected: expected.length > 0 ? [english('verdict.expected', { names: nameList(expected) })] : [],
  };
}

type Script = NonNullable<TestEdits['scripts']>[number];

/** Commands beside those of tests: those that check less than before, and those that run something else. */
export function scriptsText(scripts: readonly Script[] = []): { less: string[]; other: string[]; parts: CheckedBy[] } {
  const own = scripts.filter(({ part }) => part !== 'test');
  const less = own.filter((script) => lessText(script) !== null);
  return {
    less: less.map((script) => lessText(script)!),
    other: own
      .filter((script) => !less.includes(script))
      .map(({ path, part, was, is }) =>
        english('verdict.scriptChanged', {
          part,
          file: nameList([path]),
          before: nameList([was]),
          now: nameList([is ?? '']),
        }),
      ),
    parts: less.map(({ part }) => part),
  };
}

/** How a command checks less than before; null when nothing shows that. */
function lessText({ path, part, was, is }: Script): string | null {
  const file = nameList([path]);
  if (is === null) return english('verdict.scriptGone', { part, file });
  const [before, now] = [commandsIn(was), commandsIn(is)];
  if (before.length === 0) return null;
  if (now.length === 0) return english('verdict.scriptEmpty', { part, file, command: nameList([is]) });
  if (isDeaf(is) && !isDeaf(was)) return english('verdict.scriptDeaf', { part, file, command: nameList([is]) });
  const isPart = now.every((command) => before.includes(command));
  const gone = before.filter((command) => !now.includes(command));
  return isPart && gone.length > 0
    ? english('verdict.scriptLess', { part, file, command: nameList([gone.join('; ')]) })
    : null;
}

/** Commands that say or do nothing. */
const IDLE =
  /^(?:true|:|exit(?: 0)?|(?:echo|printf)(?: .*)?|node -e (?:""|''|process\.exit\(0\)|"process\.exit\(0\)"))$/;

/** The commands of a line or recipe that do something. */
const commandsIn = (line: string): string[] =>
  line
    .split(/&&|\|\||[;&|\n]/)
    .map((command) => command.trim().replace(/^[@+-]+\s*/, ''))
    .filter((command) => command !== '' && !IDLE.test(command));

/** It ends well whatever happens: `x || true`, `x; exit 0`, or a line of a recipe whose failure `make` ignores. */
function isDeaf(line: string): boolean {
  const lines = line.split('\n').map((each) => each.trim());
  const last = lines.at(-1)!;
  const end = Math.max(last.lastIndexOf('||') + 1, last.lastIndexOf(';'));
  return lines.some((each) => /^@?-/.test(each)) || (end > 0 && IDLE.test(last.slice(end + 1).trim()));
}
