/** What is told of a new task. The page shows it, too, and has no room for the catalogue. */
export const TASK_BEGUN = {
  one: 'The agent is working in {workspace}. I write when it is done.',
  many: 'The agents are working in {workspace}, each on a branch of its own. I write when one is done, and compare them when all are.',
  plan: 'The agent in {workspace} makes a plan first. It comes here, and nothing is changed before your yes.',
} as const;
