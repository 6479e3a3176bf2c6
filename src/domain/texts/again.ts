import { en } from './en.ts';
import { english, type Say, type TextKey } from './say.ts';

/**
 * Sentences of ours that were stored, or made in a container, in English: they are said again in the language of a
 * person. The catalogue itself finds them, so that each has one wording.
 */

type Values = Record<string, string>;

/** The values with which a text was said; null when it is another one. A text with forms is never found. */
function valuesIn(template: string, said: string): Values | null {
  const [head = '', ...parts] = template.split(/\{(\w+)\}/);
  if (!said.startsWith(head)) return null;
  const values: Values = {};
  let at = head.length;
  for (let index = 0; index < parts.length; index += 2) {
    const after = parts[index + 1]!;
    const isLast = index + 2 === parts.length;
    const end = isLast ? said.length - after.length : said.indexOf(after, at + 1);
    if (end <= at || !said.startsWith(after, end)) return null;
    values[parts[index]!] = said.slice(at, end);
    at = end + after.length;
  }
  return at === said.length ? values : null;
}

interface Part {
  /** null: it is none of these keys */
  text: [TextKey, Values] | null;
  made: string;
  gap: string;
}

/** A sentence with many names has as many places where it may end. */
const MOST_ENDS = 60;

/**
 * The parts of a text that are texts of these keys. Each ends where one of `ends` is, and has what stands there.
 * What no key has is one part as it is, up to the end.
 */
function* partsOf(text: string, ends: RegExp, keys: readonly TextKey[]): Generator<Part> {
  for (let rest = text; rest !== ''; ) {
    const possible = [...rest.matchAll(ends)].slice(0, MOST_ENDS);
    const found = [...possible, null].flatMap((end) => {
      const said = end ? rest.slice(0, end.index) : rest;
      return keys.flatMap((key) => {
        const values = valuesIn(en[key], said);
        const text: [TextKey, Values] = [key, values ?? {}];
        return values && isWhole(values) ? [{ text, made: said, gap: end?.[0] ?? '' }] : [];
      });
    })[0];
    yield found ?? { text: null, made: rest, gap: '' };
    rest = found ? rest.slice(found.made.length + found.gap.length) : '';
  }
}

/** A sentence with a list ends where its list does, whatever the names in it contain. */
const isWhole = ({ changes, steps }: Values): boolean =>
  [changes, steps].every((list) => !list || [...partsOf(list, ITEM_ENDS, ITEMS)].every(({ text }) => text !== null));

const keysOf = (...families: readonly string[]): TextKey[] =>
  (Object.keys(en) as TextKey[]).filter((key) => families.some((family) => key.startsWith(family)));

const REASONS = keysOf('github.', 'agent.', 'clone.', 'name.');
const SENTENCES = [...keysOf('undo.', 'why.', 'failure.said'), ...REASONS];
const RESULTS: TextKey[] = [...keysOf('did.'), ...REASONS, 'app.nothing', 'tasks.which', 'tasks.example'];
const NOTES = keysOf('note.');
const FAILURES = keysOf('failed.');
const ITEMS = keysOf('undone.');
const SENTENCE_ENDS = /(?<=[.!?)])\s/g;
const ITEM_ENDS = /, | and (?=\d)/g;

/** English sentences of ours in the language of a person. From the first one that is not ours, a text stays as it is. */
export const sayAgain = (text: string, say: Say): string => sentencesAgain(text, SENTENCES, say);

/** Why a turn or a routine step has failed, where it is no answer of a model. Lines of others may follow the first. */
export function failureAgain(text: string, say: Say): string {
  const [first = '', ...others] = text.split('\n');
  return [sentencesAgain(first, FAILURES, say), ...others].join('\n');
}

/** What the container notes beside the changes of a task. */
export const noteAgain = (text: string, say: Say): string => sentencesAgain(text, NOTES, say);

/** What a program has printed follows this line. */
const BEFORE_OUTPUT = /^What it printed last:$|the tests fail:$/;

/** The result of a command that is a tool, line by line. What a program has printed stays as it is. */
export function resultAgain(text: string, say: Say): string {
  const whole = sayAgain(text, say);
  if (say === english || whole !== text) return whole;
  let isOurs = true;
  const lines = text.split('\n').map((line, at, all) => {
    const said = isOurs ? shipmentAgain(sentencesAgain(line, RESULTS, say), say) : line;
    const isTheirs = (at > 0 && all[at - 1] === '' && said === line) || BEFORE_OUTPUT.test(line);
    isOurs = isOurs && !isTheirs;
    return said;
  });
  return lines.join('\n');
}

/** How far a pull request is, behind its name. */
function shipmentAgain(line: string, say: Say): string {
  for (const key of STATES) {
    const at = line.indexOf(`: ${en[key]}`);
    const after = at > 0 ? AFTER_STATE.exec(line.slice(at + 2 + en[key].length)) : null;
    if (!after) continue;
    const [, checks, url = ''] = after;
    const state = checks ? say('ship.failedChecks', { state: say(key), checks }) : say(key);
    return `${line.slice(0, at)}: ${state}${url}`;
  }
  return line;
}

const STATES = (Object.keys(en) as TextKey[]).filter((key) => key.startsWith('ship.is.')) as Array<
  TextKey & `ship.is.${string}`
>;
const AFTER_STATE = /^(?:; failed: (.*?))?( https?:\/\/\S+)?$/;

function sentencesAgain(text: string, keys: readonly TextKey[], say: Say): string {
  if (say === english) return text;
  return [...partsOf(text, SENTENCE_ENDS, keys)].map((part) => `${saidPart(part, say)}${part.gap}`).join('');
}

/** A stored sentence that is one text of a family, in the language of a person; any other one stays as it is. */
export function sayWhole(text: string, family: `${string}.`, say: Say): string {
  if (say === english) return text;
  const found = keysOf(family).flatMap((key) => {
    const values = valuesIn(en[key], text);
    return values ? [saidWith([key, values], say)] : [];
  });
  return found[0] ?? text;
}

/** Names of tests, and how many more there are. */
function namesIn(value: string, say: Say): string {
  const [, files, count] = /^(.*) and (\d+) more$/s.exec(value) ?? [];
  return files === undefined ? value : say('undone.more', { files, count: Number(count) });
}

const saidPart = ({ text, made }: Part, say: Say): string => (text ? saidWith(text, say) : made);

const saidWith = ([key, values]: [TextKey, Values], say: Say): string =>
  (say as (key: TextKey, values: Values) => string)(
    key,
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueIn(name, value, say)])),
  );

/** The lists in a result of `undo`: what became of which files, which steps were taken back, and names alone. */
function valueIn(name: string, value: string, say: Say): string {
  if (name === 'names') return namesIn(value, say);
  if (name === 'reason') return sayAgain(value, say);
  if (name === 'groups')
    return value.replace(/, (\d+) members\)/g, (_, count) => `, ${say('groups.members', { count: Number(count) })})`);
  if (name === 'because' || name === 'character') return sayWhole(value, 'because.', say);
  if (!['changes', 'steps', 'files', 'others', 'refs', 'branches'].includes(name)) return value;
  const items = [...partsOf(value, ITEM_ENDS, ITEMS)].map((part) => saidPart(part, say));
  return name === 'steps' ? say.list(items) : items.join(', ');
}
