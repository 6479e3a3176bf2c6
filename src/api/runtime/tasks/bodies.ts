import { z } from 'zod';

const text = () => z.string().nullish();
const flag = () => z.boolean().nullish();

export const newTaskRequest = z
  .object({
    prompt: z.string(),
    model: text(),
    workspace: text().describe(
      'A path is only kept. The name or the path of a Fetch workspace makes it a coding task there',
    ),
    mode: text(),
    allow_shell: flag(),
    trust_mode: flag(),
    auto_approve: flag(),
    agent: text().describe('A coding agent, or auto: makes it a coding task'),
    harness: text().describe('The same as agent'),
  })
  .meta({
    id: 'NewTaskRequest',
    examples: [
      { prompt: 'Summarise the open issues' },
      { prompt: 'Fix the failing tests', agent: 'auto', workspace: 'demo' },
    ],
  });
