import { limitScenarios } from '../support/providers/limit-scenarios.ts';
import { agentScenarios, type Differences } from '../support/providers/scenarios.ts';
import { taskScenarios } from '../support/providers/task-scenarios.ts';

const opencode: Differences = {
  name: 'opencode',
  model: 'scripted',
  protocol: 'openai-chat',
  sideQuestions: 1,
  refused: 'ends its turn',
  reasons: { unauthorized: /scripted 401/, limited: /scripted 429/, failing: /scripted 500/, cut: /./ },
  // numbers of its own
  attempts: { unauthorized: 1, limited: 6, failing: 6, cut: 6 },
};

agentScenarios(opencode);
taskScenarios(opencode);
limitScenarios(opencode);
