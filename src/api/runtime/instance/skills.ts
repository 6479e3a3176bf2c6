import { join } from 'node:path';
import { z } from 'zod';
import type { Config } from '../../../config.ts';
import { decideVersion, type Extension, listExtensions } from '../../../store/owner/extensions.ts';
import { skillNotAgreed, skillNotFound } from '../../errors/errors.ts';
import { skillRequest } from '../shared/bodies.ts';
import { endpoint } from '../shared/endpoint.ts';

const folderOf = ({ FETCH_HOME }: Pick<Config, 'FETCH_HOME'>): string => join(FETCH_HOME, 'skills');
const isSkill = ({ kind }: Extension): boolean => kind === 'skill';

export const getSkills = endpoint({
  method: 'GET',
  path: '/v1/skills',
  summary: 'List the skills of the owner',
  answer: {
    schema: z
      .object({
        directory: z.string(),
        directories: z.array(z.string()),
        warnings: z.array(z.string()).describe('Why a folder is not used'),
        skills: z.array(
          z.object({
            name: z.string(),
            description: z.string(),
            path: z.string(),
            enabled: z.boolean().describe('The owner has agreed to this version'),
            is_bundled: z.boolean(),
          }),
        ),
      })
      .meta({ id: 'Skills' }),
    what: 'Those that were found, with their names and descriptions, in the order of the names.',
  },
  handle: async (_, { store, config }) => {
    const directory = folderOf(config);
    const found = (await listExtensions(store.db)).filter(isSkill);
    return {
      directory,
      directories: [directory],
      warnings: found.flatMap(({ name, problem }) => (problem === null ? [] : [`${name}: ${problem}`])),
      skills: found.flatMap(({ name, declaration, agreed }) =>
        declaration?.kind === 'skill'
          ? [
              {
                name,
                description: declaration.description,
                path: join(directory, name, 'SKILL.md'),
                enabled: agreed === true,
                is_bundled: false,
              },
            ]
          : [],
      ),
    };
  },
});

/**
 * A yes is for a version that a person has seen whole, and this answer does not show it: so a skill can only be
 * switched off here.
 */
export const postSkill = endpoint({
  method: 'POST',
  path: '/v1/skills/{name}',
  summary: 'Switch a skill off; what was not agreed to is switched on in the chat',
  body: skillRequest,
  answer: { schema: z.object({ name: z.string(), enabled: z.boolean() }), what: 'How it is now.' },
  refusals: { 404: 'There is no such skill.', 409: 'The owner has not agreed to this version.' },
  handle: async ({ params: { name }, body: { enabled } }, { store, config }) => {
    const found = (await listExtensions(store.db)).find((each) => isSkill(each) && each.name === name);
    if (!found?.hash) throw skillNotFound(name, folderOf(config));
    if (enabled && found.agreed !== true) throw skillNotAgreed(name);
    if (!enabled) await decideVersion(store.db, found.hash, false, { role: 'client' });
    return { name, enabled };
  },
});
