import { blockQuote, inline, visible } from '../text/foreign-text.ts';
import { english, type Say } from '../texts/say.ts';

/** The plan of a task: what an agent is asked for, how its answer is read, and how a person reads it. */

/** A plan with the files that it would touch, as the agent says itself. */
interface ReadPlan {
  text: string;
  files: string[];
}

/** The length that fits one message. */
const WISHED_CHARS = 2_500;
/** More than a person reads. */
const MOST_CHARS = 20_000;
const MOST_FILES = 200;
const FILES_SHOWN = 12;
const PATH_CHARS = 200;

/** For the agent, after the goal. */
export const PLAN_FIRST = `Make a plan for this first, and change nothing yet: you can only read here until the person has agreed to your plan. Look at what is there. Then hand in the plan, whole, as your last message: what you will do in a few numbered steps, what you leave alone, and what is unclear, in at most ${WISHED_CHARS} characters. End it with a line "Files:" and below it each file that you would create, change or delete, one on a line, as "- path".`;
export const STILL_PLANNING =
  'You can still only read. Go on with the plan, and hand it in as your last message, with its "Files:".';

/** For the agent: what the person said to its plan. */
export const changePlan = (words: string): string =>
  `The person has read your plan and wants it changed:\n${words}\n\nYou can still only read. Hand in the whole plan again, as it is now, with its "Files:".`;

/** For the agent, when the work begins. `changes`: what the person wanted changed on the way, which the plan has. */
export const agreedPlan = (changes: readonly string[]): string =>
  [
    'The person has agreed to your plan. You can write now: carry it out, all of it and nothing else.',
    ...(changes.length > 0
      ? [`What they wanted changed on the way:\n${changes.map((change) => `- ${change}`).join('\n')}`]
      : []),
  ].join('\n');

/** For the agent, when its work was interrupted. */
export const AGREED = 'The person has agreed to the plan, and you can write.';

/** For an agent that knows nothing of the plan, because its session is lost or another agent made it. */
export const planInWords = ({ text, files }: ReadPlan, state: 'so far' | 'agreed'): string =>
  [
    state === 'agreed' ? 'The plan that the person has agreed to:' : 'The plan so far:',
    text,
    ...(files.length > 0 ? ['Files:', ...files.map((file) => `- ${file}`)] : []),
  ].join('\n');

const HEADING =
  /^[\s#*_>-]{0,10}(?:files|files to (?:touch|change)|files touched|files that (?:it|i) would (?:touch|change))[\s*_:]{0,5}$/i;
const INLINE = /^[\s#*_>-]{0,10}files[*_]{0,2}:[*_]{0,2}\s(.{1,2000})$/i;
const ITEM = /^\s{0,8}(?:[-*+•]|\d{1,3}[.)])\s{1,4}(\S.*)$/;

/** Takes the list of files off the end of a plan, in any form that agents write it in. */
export function readPlan(said: string): ReadPlan {
  const lines = visible(said).trim().slice(0, MOST_CHARS).split('\n');
  const at = lines.findLastIndex((line) => HEADING.test(line) || INLINE.test(line));
  if (at < 0) return { text: lines.join('\n').trim(), files: [] };
  const files = (INLINE.exec(lines[at]!)?.[1] ?? '').split(/,\s{0,4}/);
  let end = at + 1;
  for (; end < lines.length; end += 1) {
    const line = lines[end]!;
    const item = ITEM.exec(line)?.[1];
    if (item === undefined && (line.trim() !== '' || files.length > 1)) break;
    if (item !== undefined) files.push(item);
  }
  const paths = [...new Set(files.map(pathIn).filter((path) => path !== ''))];
  const text = [...lines.slice(0, at), ...lines.slice(end)].join('\n').trim();
  // a plan of nothing but files is still a plan
  return { text: text || lines.join('\n').trim(), files: paths.slice(0, MOST_FILES) };
}

/** The path at the beginning of a line: `src/a.ts` (new): why */
function pathIn(item: string): string {
  const quoted = /^[*_]{0,2}`([^`]{1,400})`/.exec(item)?.[1];
  const plain = item.replace(/[*_]{2}/g, '').split(/\s(?:\(|[-–—:]|#)|:\s|\s{2}/, 1)[0]!;
  const path = (quoted ?? plain).replace(/[\s,;:.]{1,10}$/, '').trim();
  return /^(?:none|no files?|nothing|n\/a|\(none\))$/i.test(path) ? '' : inline(path, PATH_CHARS);
}

/** The words of the plan as a person sees them: each line is quoted, because it may look like ours. */
export const quotedPlan = ({ text }: ReadPlan): string => blockQuote(text);

/** The files that the plan would touch, for a person. */
export function filesOfPlan({ files }: ReadPlan, say: Say = english): string {
  if (files.length === 0) return say('plan.noFiles');
  const shown = files.slice(0, FILES_SHOWN).map((file) => `- \`${visible(file.replaceAll('`', "'"))}\``);
  const more = files.length > FILES_SHOWN ? [`- ${say('report.more', { count: files.length - FILES_SHOWN })}`] : [];
  return [say('plan.files'), ...shown, ...more].join('\n');
}
