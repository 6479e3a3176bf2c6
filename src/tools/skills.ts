import { z } from 'zod';
import { INSIDE } from '../contracts/kennel.ts';
import type { Skill } from '../domain/extensions/skill.ts';
import { isAgreed } from '../store/owner/extensions.ts';
import { declarationsOf, extensionsOfTurn, skillsIn } from '../store/turns/turn-extensions.ts';
import { defineTool, type ToolContext } from './tool.ts';

/**
 * Reads a skill that the owner agreed to: its text is theirs. It is what was shown then, whatever its folder has now.
 */
export const skillRead = defineTool({
  name: 'skill_read',
  family: 'skills',
  description: 'Read a skill, or a file that it names.',
  schema: z.strictObject({ skill: z.string().max(64), file: z.string().max(300).optional() }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  reads: [],
  sends: [],
  onStore: 'reads',
  notARoutineStep: true,
  timeoutMs: 10_000,
  run: async ({ skill: wanted, file }, context) => {
    const skills = await skillsOf(context);
    const found = skills.find(({ skill }) => skill.name === wanted);
    const no = (output: string) => ({ ok: false, output });
    if (!found)
      return no(
        skills.length === 0
          ? 'There are no skills here.'
          : `There is no skill of this name. There are: ${skills.map(({ skill }) => skill.name).join(', ')}.`,
      );
    const { skill, hash } = found;
    if (!(await isAgreed(context.db, hash))) return no(`The owner does not agree to the skill ${skill.name} any more.`);
    const files = skill.files.map(({ path }) => path);
    const listed =
      files.length > 0
        ? `\n\n[its files, in containers of commands and coding tasks in ${INSIDE.skills}/${skill.name}: ${files.join(', ')}]`
        : '';
    if (file === undefined || file === 'SKILL.md') return { ok: true, output: `${skill.body}${listed}` };
    const text = skill.files.find(({ path }) => path === file)?.text;
    return text === undefined ? no(`The skill has no such file.${listed}`) : { ok: true, output: text };
  },
});

async function skillsOf({ db, turnId }: ToolContext): Promise<Array<{ hash: string; skill: Skill }>> {
  return skillsIn(await declarationsOf(db, await extensionsOfTurn(db, turnId)));
}
