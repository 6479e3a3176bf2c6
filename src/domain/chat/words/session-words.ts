import { isTooLong, plainWords } from './commands.ts';

/** `take` goes on with a session that began on another machine; `give` brings one there. */

interface Take {
  workspace?: string;
  /** what its agent is told first */
  goal?: string;
}

/** The words of a message without the lines below them, one for each file that came with it. */
function withoutFiles(text: string): string {
  const lines = text.trim().split('\n');
  while (lines.length > 1 && /^(?:\[.*\]|\s*)$/.test(lines.at(-1)!)) lines.pop();
  return lines.join('\n').trim();
}

/** What a whole message takes, with or without the file; null for every other message. A goal may be long. */
export function parseTake(text: string): Take | null {
  const words = withoutFiles(text);
  const [head, workspace] =
    /^\/?take(?: it| over| it over| (?:my|the|this) session)?(?: in ([\w.-]{1,100}))?(?=[.!]?$|: )/i.exec(words) ?? [];
  if (head === undefined) return null;
  const goal = words.slice(head.length + 1).trim();
  return { ...(workspace && { workspace }), ...(goal && { goal }) };
}

/** `task`: its number in the chat, or its id; the latest one when left out. */
interface Give {
  task?: string;
}

export function parseGive(text: string): Give | null {
  if (isTooLong(text)) return null;
  const [said, task] =
    /^give(?: me)?(?: (?:task |session )?(\d{1,5}|tsk_[a-z0-9]{1,40}))?$/.exec(plainWords(text)) ?? [];
  if (said === undefined || said === 'give me') return null;
  return task === undefined ? {} : { task };
}
