import type { Part } from '../../tasks/checks/project-profile.ts';
import { isTooLong } from './commands.ts';

/** What a person says of how a project is worked on: `demo is tested by make check`, `forget how demo is tested`. */

const PART_OF: Record<string, Part> = {
  installed: 'install',
  built: 'build',
  'type-checked': 'types',
  typechecked: 'types',
  tested: 'test',
  linted: 'lint',
  run: 'run',
  started: 'run',
};
const SAID = /^([\w-]{1,64}) is (installed|built|type-?checked|tested|linted|run|started) (?:by|with) (\S.{0,300})$/i;
const FORGOTTEN = /^forget how ([\w-]{1,64}) is (installed|built|type-?checked|tested|linted|run|started)[.!]?$/i;

interface ProfileOrder {
  name: string;
  part: Part;
  /** null: it is forgotten */
  command: string | null;
}

/** What a whole message says; null when it says something else. */
export function parseProfile(text: string): ProfileOrder | null {
  const line = text.trim();
  if (isTooLong(line)) return null;
  const forgotten = FORGOTTEN.exec(line);
  if (forgotten) return { name: forgotten[1]!, part: PART_OF[forgotten[2]!.toLowerCase()]!, command: null };
  const said = SAID.exec(line);
  if (!said) return null;
  const command = /^`[^`]+`\.?$/.test(said[3]!) ? said[3]!.replace(/^`|`\.?$/g, '') : said[3]!;
  return { name: said[1]!, part: PART_OF[said[2]!.toLowerCase()]!, command: command.trim() };
}

/** The name in `check demo`; null when a message is about something else. */
export function parseCheck(text: string): { name: string } | null {
  const [, name] = /^\/?check ([\w-]{1,64})(?: again)?[.!]?$/i.exec(text.trim()) ?? [];
  return name === undefined ? null : { name };
}
